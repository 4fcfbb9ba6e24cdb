// Cuts the flat graph of layers into a chain of blocks: at values that all later layers depend on
// alone.
#include "onnx/to_model.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "model/check.hpp"
#include "model/default_names.hpp"
#include "model/parameters.hpp"
#include "model/shapes.hpp"

namespace plait::onnx {

namespace {

tensor::Shape input_of(const ImportedNetwork& network, const std::string& source) {
  const std::vector<std::int64_t>& dims = network.input_dims;
  const bool said = dims.size() >= 2 && std::ranges::all_of(dims.begin() + 1, dims.end(),
                                                            [](auto dim) { return dim > 0; });
  if (!said) {
    user_error(
        "{}: does not state the size of its input; save it with a fixed size (except for the "
        "batch)",
        source);
  }
  return tensor::Shape(std::vector<std::int64_t>(dims.begin() + 1, dims.end()));
}

/// Per layer: whether everything behind it reads what it leaves, and nothing older.
std::vector<bool> cuts(const ImportedNetwork& network) {
  const std::size_t count = network.layers.size();
  std::vector<std::size_t> last_reader(count + 1, 0);  // [0] of the graph's input
  for (std::size_t i = 0; i < count; ++i) {
    for (const int input : network.layers[i].inputs) {
      last_reader[static_cast<std::size_t>(input + 1)] = i;
    }
  }
  std::vector<bool> after(count, false);
  std::size_t oldest = 0;  // the last that reads something older
  for (std::size_t i = 0; i < count; ++i) {
    oldest = std::max(oldest, last_reader[i]);
    after[i] = oldest <= i;
  }
  return after;
}

template <class... Kinds>
bool is_one_of(const ops::Operation& layer) {
  return (std::holds_alternative<Kinds>(layer) || ...);
}

/// A flatten joins a global pool, and a linear layer a flatten: the usual head is one block.
bool begins_block(const ops::Operation& layer, const ops::Operation& before) {
  if (is_one_of<ops::Convolution, ops::TransposedConvolution, ops::Convolution1d, ops::Pool,
                ops::GlobalAveragePool>(layer))
    return true;
  if (is_one_of<ops::Flatten>(layer)) return !is_one_of<ops::GlobalAveragePool>(before);
  return is_one_of<ops::Linear>(layer) && !is_one_of<ops::Flatten>(before);
}

/// First layers of the blocks, and the end.
std::vector<std::size_t> block_begins(const ImportedNetwork& network) {
  const std::vector<bool> cut_after = cuts(network);
  std::vector<std::size_t> begins{0};
  for (std::size_t i = 1; i < network.layers.size(); ++i) {
    if (!cut_after[i - 1]) continue;
    const bool branches = !cut_after[i];
    if (branches || begins_block(network.layers[i].layer, network.layers[i - 1].layer)) {
      begins.push_back(i);
    }
  }
  begins.push_back(network.layers.size());
  return begins;
}

model::BlockSpec block_of(const ImportedNetwork& network, std::size_t first, std::size_t last) {
  model::BlockSpec block;
  std::vector<ops::Operation> layers;
  for (std::size_t i = first; i < last; ++i) layers.push_back(network.layers[i].layer);
  const std::vector<std::string> names = model::default_names(layers);
  for (std::size_t i = first; i < last; ++i) {
    std::vector<int> inputs = network.layers[i].inputs;
    for (int& input : inputs) input = std::max(model::kBlockInput, input - static_cast<int>(first));
    block.nodes.push_back({names[i - first], layers[i - first], std::move(inputs)});
  }
  return block;
}

}  // namespace

ImportedModel to_model(const ImportedNetwork& network, const std::string& name,
                       const std::string& source) {
  ImportedModel imported{.model = {.name = name, .input = input_of(network, source), .blocks = {}},
                         .weights = {}};
  if (network.layers.empty() ||
      network.output + 1 != static_cast<std::int64_t>(network.layers.size())) {
    user_error("{}: its output is not the result of its last layer", source);
  }
  const std::vector<std::size_t> begins = block_begins(network);
  for (std::size_t b = 0; b + 1 < begins.size(); ++b) {
    imported.model.blocks.push_back(block_of(network, begins[b], begins[b + 1]));
    imported.model.blocks.back().name = fmt::format("block{}", b + 1);
  }
  model::check_model(imported.model, source);
  const std::vector<tensor::Shape> borders = model::border_shapes(imported.model);
  for (std::size_t b = 0; b + 1 < begins.size(); ++b) {
    const model::BlockSpec& block = imported.model.blocks[b];
    std::size_t next = 0;
    const std::vector<ops::ParameterSpec> wanted = model::block_parameters(block, borders[b]);
    for (std::size_t i = begins[b]; i < begins[b + 1]; ++i) {
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
