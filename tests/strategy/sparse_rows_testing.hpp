// A network with all that can be cut by rows, for the tests of the strategy sparse_rows.
#pragma once

#include <set>

#include "base/rng.hpp"
#include "partition/partition.hpp"
#include "strategy/sparse_rows/sparse_rows.hpp"
#include "strategy/strategy_testing.hpp"

namespace plait {

using Patterns = std::vector<std::shared_ptr<const SparsePattern>>;

inline Machine workers(int count) { return {.workers_per_node = count, .inside = kUsualInside}; }

/// Rows of 0 to 8 elements anywhere.
inline std::shared_ptr<const SparsePattern> irregular(std::int64_t rows, std::int64_t columns) {
  Rng rng(5, Purpose::test, static_cast<std::uint64_t>(rows));
  std::set<std::pair<std::int64_t, std::int64_t>> places;
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::uint32_t left = rng.below(9); left > 0; --left) {
      places.emplace(row, rng.below(static_cast<std::uint32_t>(columns)));
    }
  }
  std::vector<MatrixEntry> entries;
  for (const auto& [row, column] : places) entries.push_back({row, column, 0});
  return make_sparse_matrix(rows, columns, std::move(entries), "made up").pattern;
}

/// flatten, sparse, relu | sparse without bias | dense, gelu | sparse, clip | dense.
inline ModelSpec mixed() {
  ModelSpec model{.name = "mixed", .input = {1, 6, 10}, .blocks = {}};
  const auto block = [&](const char* name, const std::vector<LayerSpec>& layers) {
    BlockSpec& one = model.blocks.emplace_back(BlockSpec{.name = name, .nodes = {}});
    for (const LayerSpec& layer : layers) one.then(std::string(kind_name(layer)), layer);
  };
  block("a", {FlattenSpec{}, SparseLinearSpec{.pattern = irregular(40, 60)},
              ActivationSpec{ActivationKind::relu}});
  block("b", {SparseLinearSpec{.pattern = irregular(30, 40), .bias = false}});
  block("c", {LinearSpec{.out_features = 16}, ActivationSpec{ActivationKind::gelu}});
  block("d",
        {SparseLinearSpec{.pattern = irregular(24, 16)}, ActivationSpec{ActivationKind::clip, 32}});
  block("head", {LinearSpec{.out_features = 10}});
  return model;
}

inline RowPartitioner with(PartitionMethod method) {
  return [method](const Patterns& layers, int parts) {
    return make_partition(layers, {.parts = parts, .method = method}).owners;
  };
}

}  // namespace plait
