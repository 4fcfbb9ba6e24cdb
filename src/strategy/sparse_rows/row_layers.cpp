// Reads sparse and small dense linear layers as patterns with their activations; refuses other
// layers.
#include "strategy/sparse_rows/row_layers.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "plan/network_sizes.hpp"

namespace plait::strategy::sparse_rows {

namespace {

/// Of the dense layers together. Rows are cut element by element, as those of sparse layers: more
/// would take minutes and gigabytes to partition, and cut at the borders of layers it is faster.
constexpr std::int64_t kMostDenseElements = 8'000'000;

void check_dense_elements(const plan::NetworkBlock& block, const ops::Linear& linear,
                          std::int64_t columns, std::int64_t& elements) {
  if (linear.out_features > (kMostDenseElements - elements) / columns) {
    user_error(
        "`strategy` sparse_rows is for sparse layers; the {} x {} weights of block '{}' are dense, "
        "and dense layers may have {} in all: make them sparse with plait prune, or use layerpipe "
        "or data_parallel",
        with_commas(linear.out_features), with_commas(columns), block.spec.name,
        with_commas(kMostDenseElements));
  }
  elements += linear.out_features * columns;
}

std::shared_ptr<const tensor::SparsePattern> all_elements(std::int64_t rows, std::int64_t columns) {
  tensor::SparsePattern pattern{.rows = rows, .columns = columns, .row_begin = {0}, .column = {}};
  pattern.column.reserve(static_cast<std::size_t>(rows * columns));
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < columns; ++column) {
      pattern.column.push_back(static_cast<std::int32_t>(column));
    }
    pattern.row_begin.push_back(pattern.size());
  }
  return std::make_shared<const tensor::SparsePattern>(std::move(pattern));
}

[[noreturn]] void refuse(const plan::NetworkBlock& block) {
  user_error(
      "`strategy` sparse_rows cuts linear and sparse_linear layers, each followed by at most one "
      "activation; block '{}' is something else: use layerpipe or data_parallel",
      block.spec.name.empty() ? block.name : block.spec.name);
}

bool is_linear(const graph::Node& node) {
  return std::holds_alternative<ops::Linear>(node.layer) ||
         std::holds_alternative<ops::SparseLinear>(node.layer);
}

/// The layers of a block of the model, whose parts are blocks `first` to `last` of the network.
struct Module {
  std::vector<graph::Node> nodes{};
  int linear = 0;  ///< the part that is one
};

Module module_of(const plan::Network& network, int first, int last) {
  Module module{.nodes = {}, .linear = first};
  for (int b = first; b < last; ++b) {
    const plan::NetworkBlock& block = network.blocks[static_cast<std::size_t>(b)];
    const std::vector<graph::Node>& nodes = block.spec.nodes;
    if (nodes.empty() || block.srcs != std::vector{b} || block.dst != b + 1) refuse(block);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (nodes[i].inputs != std::vector<int>{static_cast<int>(i) - 1}) refuse(block);
      module.nodes.push_back(nodes[i]);
    }
    if (is_linear(nodes.front())) module.linear = b;
  }
  return module;
}

/// `dense` counts the elements of dense layers so far.
RowLayer read(const plan::NetworkBlock& block, const Module& module, const tensor::Shape& src,
              std::int64_t& dense) {
  RowLayer layer{.block = module.linear,
                 .linear = {},
                 .pattern = {},
                 .weight_spec = {},
                 .bias_spec = {},
                 .name = {}};
  std::size_t at = 0;
  const std::vector<graph::Node>& nodes = module.nodes;
  if (at < nodes.size() && std::holds_alternative<ops::Flatten>(nodes[at].layer)) {
    layer.flatten = src.rank() > 1;
    ++at;
  }
  if (at == nodes.size() || !is_linear(nodes[at])) refuse(block);
  if (src.rank() > 1 && !layer.flatten) refuse(block);  // rows of a sequence
  layer.linear = nodes[at++];
  if (at < nodes.size() && std::holds_alternative<ops::Activation>(nodes[at].layer)) {
    layer.activation = nodes[at++];
  }
  if (at != nodes.size()) refuse(block);

  const tensor::Shape flat{src.elements()};
  const std::vector<ops::ParameterSpec> parameters = ops::parameters_of(layer.linear.layer, flat);
  layer.weight_spec = parameters[0];
  layer.bias = parameters.size() > 1;
  if (layer.bias) layer.bias_spec = parameters[1];
  if (const auto* sparse = std::get_if<ops::SparseLinear>(&layer.linear.layer)) {
    layer.pattern = sparse->pattern;
  } else {
    const auto& linear = std::get<ops::Linear>(layer.linear.layer);
    check_dense_elements(block, linear, flat.elements(), dense);
    layer.pattern = all_elements(linear.out_features, flat.elements());
  }
  layer.name = layer.linear.name.empty() ? block.spec.name
                                         : fmt::format("{}.{}", block.spec.name, layer.linear.name);
  return layer;
}

}  // namespace

std::vector<RowLayer> row_layers(const plan::Network& network) {
  std::vector<RowLayer> layers;
  std::int64_t dense = 0;
  const std::vector<tensor::Shape> shapes =
      plan::has_layers(network) ? plan::tensor_shapes(network) : std::vector<tensor::Shape>{};
  for (int first = 0; first < network.size();) {
    int last = first + 1;
    while (last < network.size() && !plan::begins_module(network, last)) ++last;
    const plan::NetworkBlock& block = network.blocks[static_cast<std::size_t>(first)];
    const Module module = module_of(network, first, last);
    const tensor::Shape& src = shapes[static_cast<std::size_t>(first)];
    if (first > 0 && src.rank() != 1) refuse(block);
    layers.push_back(read(block, module, src, dense));
    first = last;
  }
  return layers;
}

}  // namespace plait::strategy::sparse_rows
