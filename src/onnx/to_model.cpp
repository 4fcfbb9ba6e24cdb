// Makes a model of the groups of layers, and gives the weights the names of its parameters.
#include "onnx/to_model.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "model/check.hpp"
#include "model/input_type.hpp"
#include "model/parameters.hpp"
#include "model/shapes.hpp"
#include "onnx/block_groups.hpp"

namespace plait::onnx {

namespace {

/// `block_of` has the block of every earlier layer.
model::BlockSpec block_of_group(const ImportedNetwork& network, const BlockGroup& group,
                                const std::vector<int>& block_of, int index) {
  model::BlockSpec block{.name = group.name, .nodes = {}, .inputs = {}};
  std::vector<int> first_inputs;
  for (const int input : network.layers[group.layers[0]].inputs) {
    const int read = input < 0 ? model::kModelInput : block_of[static_cast<std::size_t>(input)];
    const auto found = std::ranges::find(block.inputs, read);
    first_inputs.push_back(model::block_input(static_cast<int>(found - block.inputs.begin())));
    if (found == block.inputs.end()) block.inputs.push_back(read);
  }
  if (block.inputs == std::vector<int>{index - 1}) block.inputs.clear();
  for (std::size_t i = 0; i < group.layers.size(); ++i) {
    block.nodes.push_back({group.names[i], network.layers[group.layers[i]].layer,
                           i == 0 ? first_inputs : std::vector<int>{static_cast<int>(i) - 1}});
  }
  return block;
}

}  // namespace

ImportedModel to_model(const ImportedNetwork& network, const std::string& name,
                       const std::string& source) {
  if (network.layers.empty()) user_error("{}: has no layers", source);
  ImportedModel imported{.model = {.name = name, .input = network.input, .blocks = {}},
                         .weights = {}};
  const std::vector<BlockGroup> groups = block_groups(network);
  std::vector<int> block_of(network.layers.size(), model::kModelInput);
  for (std::size_t b = 0; b < groups.size(); ++b) {
    const int index = static_cast<int>(b);
    imported.model.blocks.push_back(block_of_group(network, groups[b], block_of, index));
    for (const std::size_t layer : groups[b].layers) block_of[layer] = index;
  }
  if (model::id_limit(imported.model).limit > 0) imported.model.input_type = tensor::DType::i32;
  model::check_model(imported.model, source);
  const std::vector<tensor::Shape> borders = model::border_shapes(imported.model);
  for (std::size_t b = 0; b < groups.size(); ++b) {
    const model::BlockSpec& block = imported.model.blocks[b];
    std::size_t next = 0;
    const std::vector<ops::ParameterSpec> wanted =
        model::block_parameters(block, model::input_shapes(imported.model, borders, b));
    for (const std::size_t i : groups[b].layers) {
      for (const tensor::Tensor& tensor : network.layers[i].parameters) {
        const ops::ParameterSpec& spec = wanted[next++];
        if (tensor.shape() != spec.shape) {
          user_error("{}: node {}: its tensor is {}, but the network needs {}", source,
                     network.layers[i].node, tensor.shape(), spec.shape);
        }
        imported.weights.push_back({block.name + "." + spec.name, tensor});
      }
    }
  }
  return imported;
}

}  // namespace plait::onnx
