// Parameters of each kind of layer, and their initial values drawn by name, so that no layer's
// values depend on another's.
#include "model/parameters.hpp"

#include <algorithm>
#include <cmath>

#include "base/hash.hpp"
#include "model/shapes.hpp"

namespace plait::model {

namespace {

struct Parameters {
  const tensor::Shape& src;

  std::vector<ParameterSpec> operator()(const ConvolutionSpec& conv) const {
    const std::int64_t fan_in = src[0] / conv.groups * conv.kernel.height * conv.kernel.width;
    std::vector<ParameterSpec> list{
        {.name = "weight",
         .shape = {conv.out_channels, src[0] / conv.groups, conv.kernel.height, conv.kernel.width},
         .init = Init::he_normal,
         .fan_in = fan_in,
         .scale = conv.initial_scale}};
    if (conv.bias) list.push_back({.name = "bias", .shape = {conv.out_channels}, .fan_in = fan_in});
    return list;
  }
  std::vector<ParameterSpec> operator()(const LinearSpec& linear) const {
    std::vector<ParameterSpec> list{{.name = "weight",
                                     .shape = {linear.out_features, src[0]},
                                     .init = Init::fan_in_uniform,
                                     .fan_in = src[0],
                                     .scale = linear.initial_scale}};
    if (linear.bias) {
      list.push_back({.name = "bias",
                      .shape = {linear.out_features},
                      .init = Init::fan_in_uniform,
                      .fan_in = src[0]});
    }
    return list;
  }
  std::vector<ParameterSpec> operator()(const SparseLinearSpec& sparse) const {
    const tensor::SparsePattern& pattern = *sparse.pattern;
    if (sparse.piece != nullptr) return of_piece(sparse);
    std::vector<ParameterSpec> list{
        {.name = "weight",
         .shape = {pattern.size()},
         .init = sparse.values == nullptr ? Init::he_normal : Init::given,
         .fan_in = std::max<std::int64_t>(1, pattern.size() / pattern.rows),
         .values = sparse.values,
         .pattern = sparse.pattern}};
    if (sparse.bias) {
      list.push_back({.name = "bias",
                      .shape = {pattern.rows},
                      .value = static_cast<float>(sparse.initial_bias)});
    }
    return list;
  }
  static std::vector<ParameterSpec> of_piece(const SparseLinearSpec& sparse) {
    std::vector<ParameterSpec> list{
        {.name = "weight", .shape = {sparse.pattern->size()}, .part = sparse.piece->weight}};
    if (sparse.bias) {
      list.push_back({.name = "bias", .shape = {sparse.pattern->rows}, .part = sparse.piece->bias});
    }
    return list;
  }
  std::vector<ParameterSpec> operator()(const BatchNormSpec& norm) const {
    const tensor::Shape channels{src[0]};
    if (!norm.centered) {
      return {{.name = "weight", .shape = channels, .value = 1},
              {.name = "running_var", .shape = channels, .trainable = false, .value = 1}};
    }
    return {{.name = "weight", .shape = channels, .value = 1},
            {.name = "bias", .shape = channels},
            {.name = "running_mean", .shape = channels, .trainable = false},
            {.name = "running_var", .shape = channels, .trainable = false, .value = 1}};
  }
  template <class Other>
  std::vector<ParameterSpec> operator()(const Other&) const {
    return {};
  }
};

}  // namespace

std::vector<ParameterSpec> layer_parameters(const LayerSpec& layer, const tensor::Shape& src) {
  return std::visit(Parameters{src}, layer);
}

std::vector<ParameterSpec> block_parameters(const BlockSpec& block,
                                            std::span<const tensor::Shape> srcs) {
  const std::vector<tensor::Shape> shapes = node_shapes(block, srcs);
  std::vector<ParameterSpec> all;
  for (const Node& node : block.nodes) {
    const tensor::Shape node_src = node_inputs(node, srcs, shapes, block.name).front();
    for (ParameterSpec& parameter : layer_parameters(node.layer, node_src)) {
      if (!node.name.empty()) parameter.name = node.name + "." + parameter.name;
      all.push_back(std::move(parameter));
    }
  }
  return all;
}

std::int64_t parameter_count(const ModelSpec& model) {
  const std::vector<tensor::Shape> borders = border_shapes(model);
  std::int64_t count = 0;
  for (std::size_t i = 0; i < model.blocks.size(); ++i) {
    for (const ParameterSpec& parameter :
         block_parameters(model.blocks[i], input_shapes(model, borders, i))) {
      if (parameter.trainable) count += parameter.shape.elements();
    }
  }
  return count;
}

tensor::Tensor initial_value(const ParameterSpec& parameter, std::uint64_t seed,
                             const std::string& full_name) {
  tensor::Tensor value(parameter.shape);
  const std::span<float> floats = value.floats();
  Hash name_hash;
  name_hash.add(full_name);
  Rng rng(seed, Purpose::init, name_hash.value());
  const auto fan_in = static_cast<double>(parameter.fan_in);
  switch (parameter.init) {
    case Init::he_normal: {
      const auto deviation = static_cast<float>(parameter.scale * std::sqrt(2.0 / fan_in));
      for (float& x : floats) x = deviation * rng.normal();
      break;
    }
    case Init::fan_in_uniform: {
      const auto bound = static_cast<float>(parameter.scale / std::sqrt(fan_in));
      for (float& x : floats) x = rng.uniform(-bound, bound);
      break;
    }
    case Init::constant: std::ranges::fill(floats, parameter.value); break;
    case Init::given: std::ranges::copy(*parameter.values, floats.begin()); break;
  }
  return value;
}

}  // namespace plait::model
