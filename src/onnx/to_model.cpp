// Makes a model of the groups of layers, and gives the weights the names of its parameters.
#include "onnx/to_model.hpp"

#include <algorithm>
#include <map>

#include "base/error.hpp"
#include "graph/check.hpp"
#include "graph/input_type.hpp"
#include "graph/parameters.hpp"
#include "graph/shapes.hpp"
#include "onnx/block_groups.hpp"

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

/// Whether two layers that read the same stored tensors share weights. PyTorch's exporter stores
/// equal tensors once, also those that are equal by chance as vectors of zeros and ones are: only a
/// matrix (with its bias) whose values are not all the same says that they are one.
bool share_weights(const ImportedLayer& a, const ImportedLayer& b) {
  if (a.stored.empty() || a.stored != b.stored || a.parameters.size() != b.parameters.size() ||
      a.parameters[0].shape().rank() < 2 || a.parameters.size() > 2) {
    return false;
  }
  for (std::size_t i = 0; i < a.parameters.size(); ++i) {
    if (a.parameters[i].shape() != b.parameters[i].shape() ||
        !std::ranges::equal(a.parameters[i].floats(), b.parameters[i].floats())) {
      return false;
    }
  }
  const std::span<const float> values = a.parameters[0].floats();
  return std::ranges::any_of(values, [&](float x) { return x != values.front(); });
}

/// Names the first layer with the same weights as the owner.
void tie_layers(const ImportedNetwork& network, const std::vector<BlockGroup>& groups,
                graph::ModelSpec& model) {
  struct Owner {
    const ImportedLayer* layer;
    std::string name;
  };
  std::map<std::string, std::vector<Owner>> owners;  // by stored tensor
  for (std::size_t b = 0; b < groups.size(); ++b) {
    for (std::size_t n = 0; n < groups[b].layers.size(); ++n) {
      const ImportedLayer& layer = network.layers[groups[b].layers[n]];
      if (layer.stored.empty()) continue;
      graph::Node& node = model.blocks[b].nodes[n];
      std::vector<Owner>& known = owners[layer.stored[0]];
      const auto found = std::ranges::find_if(
          known, [&](const Owner& one) { return share_weights(*one.layer, layer); });
      if (found != known.end()) {
        node.weights = found->name;
      } else {
        known.push_back({&layer, graph::full_name(model.blocks[b], node)});
      }
    }
  }
}

}  // namespace

ImportedModel to_model(const ImportedNetwork& network, const std::string& name,
                       const std::string& source) {
  if (network.layers.empty()) user_error("{}: has no layers", source);
  ImportedModel imported{.model = {.name = name, .input = network.input, .blocks = {}},
                         .weights = {}};
  const std::vector<BlockGroup> groups = block_groups(network);
  std::vector<int> block_of(network.layers.size(), graph::kModelInput);
  for (std::size_t b = 0; b < groups.size(); ++b) {
    const int index = static_cast<int>(b);
    imported.model.blocks.push_back(block_of_group(network, groups[b], block_of, index));
    for (const std::size_t layer : groups[b].layers) block_of[layer] = index;
  }
  if (graph::id_limit(imported.model).limit > 0) imported.model.input_type = tensor::DType::i32;
  tie_layers(network, groups, imported.model);
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
        if (!block.nodes[n].weights.empty()) continue;  // they are another layer's
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
