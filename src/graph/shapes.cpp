// Shapes through blocks and models.
#include "graph/shapes.hpp"

#include "base/error.hpp"

namespace plait::graph {

std::vector<tensor::Shape> node_inputs(const Node& node, std::span<const tensor::Shape> srcs,
                                       std::span<const tensor::Shape> shapes,
                                       const std::string& where) {
  std::vector<tensor::Shape> inputs;
  for (const int input : node.inputs) {
    if (input < block_input(static_cast<int>(srcs.size()) - 1) ||
        input >= static_cast<int>(shapes.size())) {
      user_error("{}: input {} is not an earlier layer of the block", where, input);
    }
    inputs.push_back(input < 0 ? srcs[static_cast<std::size_t>(number_of_input(input))]
                               : shapes[static_cast<std::size_t>(input)]);
  }
  return inputs;
}

std::vector<tensor::Shape> node_shapes(const BlockSpec& block,
                                       std::span<const tensor::Shape> srcs) {
  if (block.nodes.empty()) user_error("block '{}' has no layers", block.name);
  std::vector<tensor::Shape> shapes;
  for (const Node& node : block.nodes) {
    const std::string where = fmt::format("block '{}', layer '{}'", block.name, node.name);
    shapes.push_back(ops::result_shape(node.layer, node_inputs(node, srcs, shapes, where), where));
  }
  return shapes;
}

std::vector<tensor::Shape> input_shapes(const ModelSpec& model,
                                        std::span<const tensor::Shape> borders, std::size_t index) {
  std::vector<tensor::Shape> shapes;
  for (const int block : inputs_of(model, index)) {
    shapes.push_back(borders[static_cast<std::size_t>(block + 1)]);
  }
  return shapes;
}

std::vector<tensor::Shape> border_shapes(const ModelSpec& model) {
  std::vector<tensor::Shape> borders{model.input};
  for (std::size_t i = 0; i < model.blocks.size(); ++i) {
    borders.push_back(node_shapes(model.blocks[i], input_shapes(model, borders, i)).back());
  }
  return borders;
}

}  // namespace plait::graph
