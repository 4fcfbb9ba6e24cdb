// Small sparse networks, made up.
#pragma once

#include <algorithm>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/rng.hpp"
#include "partition/partition.hpp"

namespace plait::partition {

using Network = std::vector<std::shared_ptr<const tensor::SparsePattern>>;

inline std::shared_ptr<const tensor::SparsePattern> pattern_of(
    std::int64_t rows, std::int64_t columns,
    const std::set<std::pair<std::int64_t, std::int64_t>>& places) {
  std::vector<tensor::MatrixEntry> entries;
  for (const auto& [row, column] : places) entries.push_back({row, column, 1});
  return tensor::make_sparse_matrix(rows, columns, entries, "made up").pattern;
}

/// Every row has 0 to 2 * degree elements anywhere; widths[0] inputs.
inline Network irregular(const std::vector<std::int64_t>& widths, std::uint32_t degree,
                         std::uint64_t seed) {
  Network network;
  for (std::size_t k = 1; k < widths.size(); ++k) {
    Rng rng(seed, Purpose::test, k);
    std::set<std::pair<std::int64_t, std::int64_t>> places;
    for (std::int64_t row = 0; row < widths[k]; ++row) {
      for (std::uint32_t left = rng.below(2 * degree + 1); left > 0; --left) {
        places.emplace(row, rng.below(static_cast<std::uint32_t>(widths[k - 1])));
      }
    }
    network.push_back(pattern_of(widths[k], widths[k - 1], places));
  }
  return network;
}

/// `nodes` groups of `block` neurons in a ring; every group reads itself and the group 2^s further.
/// From the second round of s on, the inputs are permuted.
inline Network rings(std::int64_t nodes, std::int64_t block, int layers, std::uint64_t seed) {
  Network network;
  const std::int64_t width = nodes * block;
  std::vector<std::int64_t> order(static_cast<std::size_t>(width));
  std::iota(order.begin(), order.end(), 0);
  Rng rng(seed, Purpose::test);
  std::int64_t step = 1;
  for (int k = 0; k < layers; ++k) {
    std::set<std::pair<std::int64_t, std::int64_t>> places;
    for (std::int64_t row = 0; row < width; ++row) {
      for (std::int64_t i = 0; i < block; ++i) {
        places.emplace(row, order[static_cast<std::size_t>(row % nodes + i * nodes)]);
        places.emplace(row, order[static_cast<std::size_t>((row + step) % nodes + i * nodes)]);
      }
    }
    network.push_back(pattern_of(width, width, places));
    step *= 2;
    if (step < nodes) continue;
    step = 1;
    for (std::size_t i = order.size(); i > 1; --i) {
      std::swap(order[i - 1], order[rng.below(static_cast<std::uint32_t>(i))]);
    }
  }
  return network;
}

inline PartitionOptions options_for(PartitionMethod method, int parts) {
  PartitionOptions options;
  options.method = method;
  options.parts = parts;
  return options;
}

}  // namespace plait::partition
