// Parameters of blocks, and their initial values drawn by name, so that no layer's values depend on
// another's.
#include "graph/parameters.hpp"

#include <algorithm>
#include <cmath>

#include "base/hash.hpp"
#include "base/rng.hpp"
#include "graph/shapes.hpp"

namespace plait::graph {

namespace {

std::vector<ops::ParameterSpec> parameters_where(
    const BlockSpec& block, std::span<const tensor::Shape> srcs,
    bool (*wanted)(const Node& node, const ops::ParameterSpec& parameter)) {
  const std::vector<tensor::Shape> shapes = node_shapes(block, srcs);
  std::vector<ops::ParameterSpec> all;
  for (const Node& node : block.nodes) {
    const tensor::Shape node_src = node_inputs(node, srcs, shapes, block.name).front();
    for (ops::ParameterSpec& parameter : ops::parameters_of(node.layer, node_src)) {
      if (!wanted(node, parameter)) continue;
      if (!node.name.empty()) parameter.name = node.name + "." + parameter.name;
      all.push_back(std::move(parameter));
    }
  }
  return all;
}

}  // namespace

std::vector<ops::ParameterSpec> block_parameters(const BlockSpec& block,
                                                 std::span<const tensor::Shape> srcs) {
  return parameters_where(block, srcs, [](const Node&, const ops::ParameterSpec&) { return true; });
}

std::vector<ops::ParameterSpec> own_parameters(const BlockSpec& block,
                                               std::span<const tensor::Shape> srcs) {
  return parameters_where(block, srcs, [](const Node& node, const ops::ParameterSpec& parameter) {
    return node.weights.empty() || !parameter.trainable;
  });
}

std::int64_t parameter_count(const ModelSpec& model) {
  const std::vector<tensor::Shape> borders = border_shapes(model);
  std::int64_t count = 0;
  for (std::size_t i = 0; i < model.blocks.size(); ++i) {
    for (const ops::ParameterSpec& parameter :
         own_parameters(model.blocks[i], input_shapes(model, borders, i))) {
      if (parameter.trainable) count += parameter.shape.elements();
    }
  }
  return count;
}

tensor::Tensor initial_value(const ops::ParameterSpec& parameter, std::uint64_t seed,
                             const std::string& full_name) {
  tensor::Tensor value(parameter.shape);
  const std::span<float> floats = value.floats();
  Hash name_hash;
  name_hash.add(full_name);
  Rng rng(seed, Purpose::init, name_hash.value());
  const auto fan_in = static_cast<double>(parameter.fan_in);
  switch (parameter.init) {
    case ops::Init::he_normal: {
      const auto deviation = static_cast<float>(parameter.scale * std::sqrt(2.0 / fan_in));
      for (float& x : floats) x = deviation * rng.normal();
      break;
    }
    case ops::Init::fan_in_uniform: {
      const auto bound = static_cast<float>(parameter.scale / std::sqrt(fan_in));
      for (float& x : floats) x = rng.uniform(-bound, bound);
      break;
    }
    case ops::Init::normal:
      for (float& x : floats) x = static_cast<float>(parameter.scale) * rng.normal();
      break;
    case ops::Init::constant: std::ranges::fill(floats, parameter.value); break;
    case ops::Init::given: std::ranges::copy(*parameter.values, floats.begin()); break;
  }
  return value;
}

}  // namespace plait::graph
