// A network with all that can be cut by rows, for the tests of the strategy sparse_rows.
#pragma once

#include <set>

#include "base/rng.hpp"
#include "partition/partition.hpp"
#include "strategy/sparse_rows/sparse_rows.hpp"
#include "strategy/strategy_testing.hpp"

namespace plait::strategy {

using Patterns = std::vector<std::shared_ptr<const tensor::SparsePattern>>;

inline plan::Machine workers(int count) {
  return {.workers_per_node = count, .inside = plan::kUsualInside};
}

/// Rows of 0 to 8 elements anywhere.
inline std::shared_ptr<const tensor::SparsePattern> irregular(std::int64_t rows,
                                                              std::int64_t columns) {
  Rng rng(5, Purpose::test, static_cast<std::uint64_t>(rows));
  std::set<std::pair<std::int64_t, std::int64_t>> places;
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::uint32_t left = rng.below(9); left > 0; --left) {
      places.emplace(row, rng.below(static_cast<std::uint32_t>(columns)));
    }
  }
  std::vector<tensor::MatrixEntry> entries;
  for (const auto& [row, column] : places) entries.push_back({row, column, 0});
  return tensor::make_sparse_matrix(rows, columns, std::move(entries), "made up").pattern;
}

/// flatten, sparse, relu | sparse without bias | dense, gelu | sparse, clip | dense.
inline graph::ModelSpec mixed() {
  graph::ModelSpec model{.name = "mixed", .input = {1, 6, 10}, .blocks = {}};
  const auto block = [&](const char* name, const std::vector<ops::Operation>& layers) {
    graph::BlockSpec& one = model.blocks.emplace_back(graph::BlockSpec{.name = name, .nodes = {}});
    for (const ops::Operation& layer : layers) one.then(std::string(ops::name_of(layer)), layer);
  };
  block("a", {ops::Flatten{}, ops::SparseLinear{.pattern = irregular(40, 60)},
              ops::Activation{ops::ActivationKind::relu}});
  block("b", {ops::SparseLinear{.pattern = irregular(30, 40), .bias = false}});
  block("c", {ops::Linear{.out_features = 16}, ops::Activation{ops::ActivationKind::gelu}});
  block("d", {ops::SparseLinear{.pattern = irregular(24, 16)},
              ops::Activation{ops::ActivationKind::clip, 32}});
  block("head", {ops::Linear{.out_features = 10}});
  return model;
}

inline RowPartitioner with(partition::PartitionMethod method) {
  return [method](const Patterns& layers, int parts) {
    return partition::make_partition(layers, {.parts = parts, .method = method}).owners;
  };
}

}  // namespace plait::strategy
