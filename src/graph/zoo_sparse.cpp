// Sparse networks like those of the GraphChallenge, and the official ones from their files.
#include "base/error.hpp"
#include "graph/graphchallenge.hpp"
#include "graph/radixnet.hpp"
#include "graph/zoo_families.hpp"

namespace plait::graph::zoo {

namespace {

constexpr std::uint64_t kSeed = 1;

/// For `features` inputs: feature i is read where neuron i modulo the neurons was, so that fewer of
/// them leave gaps and more of them share places.
std::shared_ptr<const tensor::SparsePattern> fed_with(
    const std::shared_ptr<const tensor::SparsePattern>& pattern, std::int64_t features) {
  if (pattern->columns == features) return pattern;
  tensor::SparsePattern fed{
      .rows = pattern->rows, .columns = features, .row_begin = {0}, .column = {}};
  for (std::int64_t row = 0; row < pattern->rows; ++row) {
    for (std::int64_t base = 0; base < features; base += pattern->columns) {
      for (const std::int32_t column : pattern->row(row)) {
        if (base + column < features) {
          fed.column.push_back(static_cast<std::int32_t>(base) + column);
        }
      }
    }
    fed.row_begin.push_back(fed.size());
  }
  return std::make_shared<const tensor::SparsePattern>(std::move(fed));
}

ModelSpec clipped_chain(const Task& task, std::vector<ops::SparseLinear> layers) {
  ModelSpec model{.name = task.name, .input = task.input, .blocks = {}};
  for (std::size_t i = 0; i < layers.size(); ++i) {
    BlockSpec block{.name = fmt::format("layer{}", i + 1), .nodes = {}};
    if (i == 0 && task.input.rank() != 1) block.then("flatten", ops::Flatten{});
    block.then("linear", std::move(layers[i]));
    block.then("clip", ops::Activation{ops::ActivationKind::clip, kRadixNetClip});
    model.blocks.push_back(std::move(block));
  }
  model.blocks.push_back({.name = "head", .nodes = {}});
  model.blocks.back().then("linear", ops::Linear{.out_features = task.classes});
  return model;
}

}  // namespace

ModelSpec radixnet(const Task& task, const std::string& size) {
  const RadixNetSize shape = parse_radixnet(size);
  std::vector<ops::SparseLinear> layers;
  for (const auto& pattern : make_radixnet(shape, kSeed)) {
    const std::int64_t inputs = layers.empty() ? task.input.elements() : shape.neurons;
    layers.push_back({.pattern = fed_with(pattern, inputs)});
  }
  return clipped_chain(task, std::move(layers));
}

ModelSpec graphchallenge(const Task& task, const std::string& folder) {
  const GraphChallenge network = read_graphchallenge(folder);
  if (task.input.elements() != network.neurons) {
    user_error("model '{}' takes {} inputs but the data has {} = {}", task.name, network.neurons,
               task.input, task.input.elements());
  }
  std::vector<ops::SparseLinear> layers;
  for (const tensor::SparseMatrix& matrix : network.layers) {
    layers.push_back(
        {.pattern = matrix.pattern, .values = matrix.values, .initial_bias = network.bias});
  }
  return clipped_chain(task, std::move(layers));
}

}  // namespace plait::graph::zoo
