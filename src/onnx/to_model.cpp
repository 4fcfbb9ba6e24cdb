// Makes a model of the groups of layers, and gives the weights the names of its parameters.
#include "onnx/to_model.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "graph/check.hpp"
#include "graph/input_type.hpp"
#include "graph/parameters.hpp"
#include "graph/shapes.hpp"
#include "onnx/block_groups.hpp"
#include "onnx/shared.hpp"

namespace plait::onnx {

namespace {

/// `block_of` has the block of every earlier layer.
graph::BlockSpec block_of_group(const ImportedNetwork& network, const BlockGroup& group,
                                const std::vector<int>& block_of, int index) {
  graph::BlockSpec block{.name = group.name, .nodes = {}, .inputs = {}};
  std::vector<int> first_inputs;
  for (const int input : network.layers[group.layers[0]].inputs) {
    const int read = input < 0 ? graph::kModelInput : block_of[static_cast<std::size_t>(input)];
    const auto found = std::ranges::find(block.inputs, read);
    first_inputs.push_back(graph::block_input(static_cast<int>(found - block.inputs.begin())));
    if (found == block.inputs.end()) block.inputs.push_back(read);
  }
  if (block.inputs == std::vector<int>{index - 1}) block.inputs.clear();
  for (std::size_t i = 0; i < group.layers.size(); ++i) {
    block.nodes.push_back({group.names[i], network.layers[group.layers[i]].layer,
                           i == 0 ? first_inputs : std::vector<int>{static_cast<int>(i) - 1}});
  }
  return block;
}

/// Layers with the weights of an earlier one name it. Lines about what is shared.
std::vector<std::string> tie_layers(const ImportedNetwork& network,
                                    const std::vector<BlockGroup>& groups,
                                    graph::ModelSpec& model) {
  std::vector<NamedLayer> layers;
  std::vector<graph::Node*> nodes;
  for (std::size_t b = 0; b < groups.size(); ++b) {
    for (std::size_t n = 0; n < groups[b].layers.size(); ++n) {
      graph::Node& node = model.blocks[b].nodes[n];
      layers.push_back(
          {&network.layers[groups[b].layers[n]], graph::full_name(model.blocks[b], node)});
      nodes.push_back(&node);
    }
  }
  SharedWeights shared = shared_weights(layers);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (shared.owners[i]) nodes[i]->weights = layers[*shared.owners[i]].name;
  }
  return std::move(shared.notes);
}

}  // namespace

ImportedModel to_model(const ImportedNetwork& network, const std::string& name,
                       const std::string& source) {
  if (network.layers.empty()) user_error("{}: has no layers", source);
  ImportedModel imported{.model = {.name = name, .input = network.input, .blocks = {}},
                         .weights = {},
                         .notes = network.notes};
  const std::vector<BlockGroup> groups = block_groups(network);
  std::vector<int> block_of(network.layers.size(), graph::kModelInput);
  for (std::size_t b = 0; b < groups.size(); ++b) {
    const int index = static_cast<int>(b);
    imported.model.blocks.push_back(block_of_group(network, groups[b], block_of, index));
    for (const std::size_t layer : groups[b].layers) block_of[layer] = index;
  }
  if (graph::id_limit(imported.model).limit > 0) imported.model.input_type = tensor::DType::i32;
  std::ranges::move(tie_layers(network, groups, imported.model),
                    std::back_inserter(imported.notes));
  graph::check_model(imported.model, source);
  const std::vector<tensor::Shape> borders = graph::border_shapes(imported.model);
  for (std::size_t b = 0; b < groups.size(); ++b) {
    const graph::BlockSpec& block = imported.model.blocks[b];
    std::size_t next = 0;
    const std::vector<ops::ParameterSpec> wanted =
        graph::block_parameters(block, graph::input_shapes(imported.model, borders, b));
    for (std::size_t n = 0; n < groups[b].layers.size(); ++n) {
      const std::size_t i = groups[b].layers[n];
      for (const tensor::Tensor& tensor : network.layers[i].parameters) {
        const ops::ParameterSpec& spec = wanted[next++];
        if (spec.trainable && !block.nodes[n].weights.empty()) continue;  // another layer's
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
