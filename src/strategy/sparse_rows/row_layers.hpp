// The linear layers of a network as rows that can be given to workers.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "graph/parameters.hpp"
#include "plan/network.hpp"

namespace plait::strategy::sparse_rows {

/// A block that is (flatten,) linear or sparse linear (, activation).
struct RowLayer {
  int block = 0;
  bool flatten = false;
  graph::Node linear;
  std::optional<graph::Node> activation{};
  std::shared_ptr<const tensor::SparsePattern> pattern;  ///< dense layers have all elements
  bool bias = true;
  ops::ParameterSpec weight_spec;
  ops::ParameterSpec bias_spec;
  std::string name;  ///< full name of the linear node

  std::int64_t rows() const { return pattern->rows; }
};

/// UserError that names the first block which is something else, or whose dense weights are too
/// many to be cut by rows.
std::vector<RowLayer> row_layers(const plan::Network& network);

}  // namespace plait::strategy::sparse_rows
