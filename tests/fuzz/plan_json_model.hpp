// The model whose sparse layers the seeds of plan_json_fuzz name.
#pragma once

#include "graph/spec.hpp"

namespace plait {

/// 6 -> 5 (sparse, relu) -> 4 (sparse without bias) -> 3 (dense).
inline graph::ModelSpec plan_json_model() {
  const auto matrix = [](std::int64_t rows, std::int64_t columns) {
    std::vector<tensor::MatrixEntry> entries;
    for (std::int64_t row = 0; row < rows; ++row) {
      entries.push_back({row, row % columns, 1});
      entries.push_back({row, (row + 2) % columns, 1});
    }
    return tensor::make_sparse_matrix(rows, columns, std::move(entries), "made up").pattern;
  };
  graph::ModelSpec model{.name = "seed", .input = {6}, .blocks = {}};
  const auto block = [&](const char* name) -> graph::BlockSpec& {
    return model.blocks.emplace_back(graph::BlockSpec{.name = name, .nodes = {}});
  };
  graph::BlockSpec& first = block("a");
  first.then("linear", ops::SparseLinear{.pattern = matrix(5, 6)});
  first.then("relu", ops::Activation{ops::ActivationKind::relu});
  block("b").then("linear", ops::SparseLinear{.pattern = matrix(4, 5), .bias = false});
  block("c").then("linear", ops::Linear{.out_features = 3});
  return model;
}

}  // namespace plait
