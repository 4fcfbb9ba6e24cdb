// Sums over blocks and models.
#include "graph/macs.hpp"

#include "graph/parameters.hpp"
#include "graph/shapes.hpp"

namespace plait::graph {

BlockCost block_cost(const BlockSpec& block, std::span<const tensor::Shape> srcs) {
  const std::vector<tensor::Shape> shapes = node_shapes(block, srcs);
  BlockCost cost{.dst_elements = shapes.back().elements()};
  for (const tensor::Shape& src : srcs) cost.src_elements += src.elements();
  for (std::size_t i = 0; i < block.nodes.size(); ++i) {
    const tensor::Shape node_src =
        node_inputs(block.nodes[i], srcs, std::span(shapes).first(i), block.name).front();
    cost.macs += ops::macs_of(block.nodes[i].layer, node_src, shapes[i]);
    cost.activation_elements += shapes[i].elements();
    for (const ops::ParameterSpec& parameter : ops::parameters_of(block.nodes[i].layer, node_src)) {
      if (parameter.trainable && block.nodes[i].weights.empty())
        cost.parameters += parameter.shape.elements();
    }
  }
  return cost;
}

std::vector<BlockCost> block_costs(const ModelSpec& model) {
  const std::vector<tensor::Shape> borders = border_shapes(model);
  std::vector<BlockCost> costs;
  costs.reserve(model.blocks.size());
  for (std::size_t i = 0; i < model.blocks.size(); ++i) {
    costs.push_back(block_cost(model.blocks[i], input_shapes(model, borders, i)));
  }
  return costs;
}

BlockCost model_cost(const ModelSpec& model) {
  BlockCost total{.src_elements = model.input.elements(), .dst_elements = model.input.elements()};
  for (const BlockCost& cost : block_costs(model)) {
    total.macs += cost.macs;
    total.parameters += cost.parameters;
    total.activation_elements += cost.activation_elements;
    total.dst_elements = cost.dst_elements;
  }
  return total;
}

}  // namespace plait::graph
