// A layer's settings as JSON, both ways.
#include "plan/json_layer.hpp"

#include "base/error.hpp"
#include "model/check.hpp"

namespace plait::plan {

namespace {

constexpr double kLarge = 1e30;

std::string_view name_of(model::ActivationKind kind) {
  return model::kind_name(model::ActivationSpec{.kind = kind});
}
std::string_view name_of(model::PoolKind kind) {
  return kind == model::PoolKind::max ? "max" : "average";
}

Json extent_json(const model::Extent2& extent) { return {extent.height, extent.width}; }

model::Extent2 read_extent(const JsonField& field, std::int64_t least) {
  const std::vector<std::int64_t> sides = field.numbers(2, {least, model::kMaxWindow});
  if (sides.size() != 2) field.refuse("must be [height, width]");
  return {sides[0], sides[1]};
}

struct LayerWriter {
  Json operator()(const model::ConvolutionSpec& conv) const {
    return {{"type", "convolution"},
            {"out", conv.out_channels},
            {"kernel", extent_json(conv.kernel)},
            {"stride", extent_json(conv.stride)},
            {"padding", extent_json(conv.padding)},
            {"dilation", extent_json(conv.dilation)},
            {"groups", conv.groups},
            {"bias", conv.bias},
            {"initial_scale", conv.initial_scale}};
  }
  Json operator()(const model::LinearSpec& linear) const {
    return {{"type", "linear"},
            {"out", linear.out_features},
            {"bias", linear.bias},
            {"initial_scale", linear.initial_scale}};
  }
  Json operator()(const model::SparseLinearSpec&) const {
    fail("a sparse layer without its matrix");
  }
  Json operator()(const model::BatchNormSpec& norm) const {
    return {{"type", "batch_norm"},
            {"epsilon", norm.epsilon},
            {"momentum", norm.momentum},
            {"centered", norm.centered}};
  }
  Json operator()(const model::ActivationSpec& activation) const {
    Json json{{"type", "activation"}};
    json.update(activation_json(activation));
    return json;
  }
  Json operator()(const model::PoolSpec& pool) const {
    return {{"type", "pool"},
            {"kind", name_of(pool.kind)},
            {"kernel", extent_json(pool.kernel)},
            {"stride", extent_json(pool.stride)},
            {"padding", extent_json(pool.padding)},
            {"ceil_mode", pool.ceil_mode},
            {"count_include_pad", pool.count_include_pad}};
  }
  Json operator()(const model::GlobalAveragePoolSpec&) const {
    return {{"type", "global_average_pool"}};
  }
  Json operator()(const model::DropoutSpec& dropout) const {
    return {{"type", "dropout"}, {"probability", dropout.probability}};
  }
  Json operator()(const model::FlattenSpec&) const { return {{"type", "flatten"}}; }
  Json operator()(const model::AddSpec&) const { return {{"type", "add"}}; }
  Json operator()(const model::ConcatSpec&) const { return {{"type", "concat"}}; }
};

model::ConvolutionSpec read_convolution(const JsonField& field) {
  return {.out_channels = field.at("out").number({1, model::kMaxChannels}),
          .kernel = read_extent(field.at("kernel"), 1),
          .stride = read_extent(field.at("stride"), 1),
          .padding = read_extent(field.at("padding"), 0),
          .dilation = read_extent(field.at("dilation"), 1),
          .groups = field.at("groups").number({1, model::kMaxChannels}),
          .bias = field.at("bias").flag(),
          .initial_scale = field.at("initial_scale").real(-kLarge, kLarge)};
}

model::PoolKind read_pool_kind(const JsonField& field) {
  const std::string word = field.text();
  for (const model::PoolKind kind : {model::PoolKind::max, model::PoolKind::average}) {
    if (word == name_of(kind)) return kind;
  }
  field.refuse("must be max or average");
}

model::PoolSpec read_pool(const JsonField& field) {
  return {.kind = read_pool_kind(field.at("kind")),
          .kernel = read_extent(field.at("kernel"), 1),
          .stride = read_extent(field.at("stride"), 1),
          .padding = read_extent(field.at("padding"), 0),
          .ceil_mode = field.at("ceil_mode").flag(),
          .count_include_pad = field.at("count_include_pad").flag()};
}

}  // namespace

Json activation_json(const model::ActivationSpec& activation) {
  return {{"kind", name_of(activation.kind)},
          {"ceiling", activation.ceiling},
          {"slope", activation.slope}};
}

model::ActivationSpec read_activation(const JsonField& field) {
  const JsonField kind = field.at("kind");
  const std::string word = kind.text();
  using enum model::ActivationKind;
  for (const model::ActivationKind one : {relu, tanh, sigmoid, gelu, clip, leaky_relu, silu}) {
    if (word != name_of(one)) continue;
    return {.kind = one,
            .ceiling = field.at("ceiling").real(-kLarge, kLarge),
            .slope = field.at("slope").real(-kLarge, kLarge)};
  }
  kind.refuse("is no activation that is known");
}

Json layer_json(const model::LayerSpec& layer) { return std::visit(LayerWriter{}, layer); }

model::LayerSpec read_layer(const JsonField& field) {
  const JsonField type = field.at("type");
  const std::string word = type.text();
  if (word == "convolution") return read_convolution(field);
  if (word == "linear") {
    return model::LinearSpec{.out_features = field.at("out").number({1, model::kMaxChannels}),
                             .bias = field.at("bias").flag(),
                             .initial_scale = field.at("initial_scale").real(-kLarge, kLarge)};
  }
  if (word == "batch_norm") {
    return model::BatchNormSpec{.epsilon = field.at("epsilon").real(0, 1),
                                .momentum = field.at("momentum").real(0, 1),
                                .centered = field.at("centered").flag()};
  }
  if (word == "activation") return read_activation(field);
  if (word == "pool") return read_pool(field);
  if (word == "global_average_pool") return model::GlobalAveragePoolSpec{};
  if (word == "dropout") return model::DropoutSpec{field.at("probability").real(0, 1)};
  if (word == "flatten") return model::FlattenSpec{};
  if (word == "add") return model::AddSpec{};
  if (word == "concat") return model::ConcatSpec{};
  type.refuse("is no layer that is known");
}

}  // namespace plait::plan
