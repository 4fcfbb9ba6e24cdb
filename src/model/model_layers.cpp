// The keys of every kind of layer in a model file, read and written. Defaults are left out when
// written.
#include "model/model_layers.hpp"

#include <algorithm>
#include <filesystem>
#include <map>

#include "base/error.hpp"
#include "base/hash.hpp"
#include "base/nearest.hpp"
#include "model/check.hpp"
#include "model/matrix_market.hpp"

namespace plait::model {

namespace {

using Keys = std::vector<std::string>;

const std::map<std::string, Keys, std::less<>>& keys_by_type() {
  static const std::map<std::string, Keys, std::less<>> keys{
      {"convolution",
       {"out", "kernel", "stride", "padding", "dilation", "groups", "bias", "initial_scale"}},
      {"linear", {"out", "bias", "initial_scale"}},
      {"sparse_linear", {"matrix", "bias", "initial_bias"}},
      {"batch_norm", {"epsilon", "momentum", "centered"}},
      {"relu", {}},
      {"tanh", {}},
      {"sigmoid", {}},
      {"gelu", {}},
      {"clip", {"ceiling"}},
      {"leaky_relu", {"slope"}},
      {"silu", {}},
      {"max_pool", {"kernel", "stride", "padding", "ceil_mode"}},
      {"average_pool", {"kernel", "stride", "padding", "ceil_mode", "count_include_pad"}},
      {"global_average_pool", {}},
      {"dropout", {"probability"}},
      {"flatten", {}},
      {"add", {}},
      {"concat", {}},
  };
  return keys;
}

std::string read_type(const TomlReader& reader) {
  Keys types;
  for (const auto& [type, keys] : keys_by_type()) types.push_back(type);
  const TomlValue* value = reader.find("type");
  if (value == nullptr) {
    user_error("{}a layer needs a type; known are {}", reader.place(reader.line()),
               fmt::join(types, ", "));
  }
  std::string type = reader.text("type", "");
  if (!keys_by_type().contains(type)) {
    if (type.size() > 60) type = type.substr(0, 60) + "...";
    user_error("{}unknown layer type '{}'{}; known are {}", reader.place(value->line), type,
               did_you_mean(type, types), fmt::join(types, ", "));
  }
  return type;
}

/// A number for both, or [height, width].
Extent2 extent(const TomlReader& reader, std::string_view key, Extent2 fallback, std::int64_t low) {
  const TomlValue* value = reader.find(key);
  if (value == nullptr) return fallback;
  const Range range{low, kMaxWindow};
  if (const auto* pair = std::get_if<TomlValue::Array>(&value->data)) {
    if (pair->size() != 2) {
      user_error("{}{} must be a number or [height, width] but has {} numbers",
                 reader.place(value->line), key, pair->size());
    }
    return {reader.integer_of((*pair)[0], key, range), reader.integer_of((*pair)[1], key, range)};
  }
  const std::int64_t both = reader.integer_of(*value, key, range);
  return {both, both};
}

std::int64_t out_of(const TomlReader& reader, std::int64_t classes) {
  const TomlValue* value = reader.find("out");
  if (value == nullptr) user_error("{}'out' is missing", reader.place(reader.line()));
  if (const auto* text = std::get_if<std::string>(&value->data)) {
    if (*text == "classes") return classes;
    user_error("{}out must be a number or \"classes\"", reader.place(value->line));
  }
  return reader.integer_of(*value, "out", {1, kMaxChannels});
}

/// The matrix lies beside the model's file.
SparseLinearSpec read_sparse_linear(const TomlReader& reader, const std::string& file) {
  const std::string name = reader.text("matrix", "");
  if (name.empty()) {
    user_error("{}'matrix' is missing: the name of a Matrix Market file",
               reader.place(reader.line()));
  }
  const std::filesystem::path path = std::filesystem::path(file).parent_path() / name;
  const tensor::SparseMatrix matrix = read_matrix_market(path.string());
  return {.pattern = matrix.pattern,
          .bias = reader.boolean("bias", true),
          .values = matrix.values,
          .initial_bias = reader.number("initial_bias", 0)};
}

LayerSpec read_spec(const TomlReader& reader, const std::string& type, const std::string& file,
                    std::int64_t classes) {
  if (type == "convolution") {
    const ConvolutionSpec usual;
    return ConvolutionSpec{.out_channels = out_of(reader, classes),
                           .kernel = extent(reader, "kernel", usual.kernel, 1),
                           .stride = extent(reader, "stride", usual.stride, 1),
                           .padding = extent(reader, "padding", usual.padding, 0),
                           .dilation = extent(reader, "dilation", usual.dilation, 1),
                           .groups = reader.integer("groups", usual.groups, {1, kMaxChannels}),
                           .bias = reader.boolean("bias", usual.bias),
                           .initial_scale = reader.number("initial_scale", 1)};
  }
  if (type == "linear") {
    return LinearSpec{.out_features = out_of(reader, classes),
                      .bias = reader.boolean("bias", true),
                      .initial_scale = reader.number("initial_scale", 1)};
  }
  if (type == "sparse_linear") return read_sparse_linear(reader, file);
  if (type == "batch_norm") {
    const BatchNormSpec usual;
    return BatchNormSpec{.epsilon = reader.number("epsilon", usual.epsilon),
                         .momentum = reader.number("momentum", usual.momentum),
                         .centered = reader.boolean("centered", true)};
  }
  if (type == "max_pool" || type == "average_pool") {
    const Extent2 kernel = extent(reader, "kernel", PoolSpec{}.kernel, 1);
    return PoolSpec{
        .kind = type == "max_pool" ? PoolKind::max : PoolKind::average,
        .kernel = kernel,
        .stride = extent(reader, "stride", kernel, 1),
        .padding = extent(reader, "padding", PoolSpec{}.padding, 0),
        .ceil_mode = reader.boolean("ceil_mode", PoolSpec{}.ceil_mode),
        .count_include_pad = reader.boolean("count_include_pad", PoolSpec{}.count_include_pad)};
  }
  if (type == "dropout") {
    return DropoutSpec{.probability = reader.number("probability", DropoutSpec{}.probability)};
  }
  if (type == "relu") return ActivationSpec{ActivationKind::relu};
  if (type == "tanh") return ActivationSpec{ActivationKind::tanh};
  if (type == "sigmoid") return ActivationSpec{ActivationKind::sigmoid};
  if (type == "gelu") return ActivationSpec{ActivationKind::gelu};
  if (type == "silu") return ActivationSpec{ActivationKind::silu};
  if (type == "leaky_relu") {
    return ActivationSpec{.kind = ActivationKind::leaky_relu,
                          .slope = reader.number("slope", ActivationSpec{}.slope)};
  }
  if (type == "clip") {
    return ActivationSpec{ActivationKind::clip, reader.number("ceiling", ActivationSpec{}.ceiling)};
  }
  if (type == "global_average_pool") return GlobalAveragePoolSpec{};
  if (type == "flatten") return FlattenSpec{};
  if (type == "concat") return ConcatSpec{};
  return AddSpec{};
}

std::vector<std::string> read_from(const TomlReader& reader, const TomlValue& value) {
  const auto text_of = [&](const TomlValue& item) {
    const auto* text = std::get_if<std::string>(&item.data);
    if (text == nullptr) {
      user_error("{}from must be a layer's name or a list of names but is {}",
                 reader.place(item.line), type_name(item));
    }
    return *text;
  };
  if (const auto* list = std::get_if<TomlValue::Array>(&value.data)) {
    std::vector<std::string> names;
    for (const TomlValue& item : *list) names.push_back(text_of(item));
    return names;
  }
  return {text_of(value)};
}

/// `, key = 3` or `, key = [1, 3]`; nothing where it is the fallback.
std::string show(std::string_view key, Extent2 value, Extent2 fallback) {
  if (value == fallback) return "";
  if (value.height == value.width) return fmt::format(", {} = {}", key, value.height);
  return fmt::format(", {} = [{}, {}]", key, value.height, value.width);
}

template <class T>
std::string show(std::string_view key, T value, T fallback) {
  return value == fallback ? "" : fmt::format(", {} = {}", key, value);
}

struct WriteLayer {
  std::string operator()(const ConvolutionSpec& conv) const {
    const ConvolutionSpec usual;
    return fmt::format(", out = {}, kernel = ", conv.out_channels) +
           (conv.kernel.height == conv.kernel.width
                ? fmt::format("{}", conv.kernel.height)
                : fmt::format("[{}, {}]", conv.kernel.height, conv.kernel.width)) +
           show("stride", conv.stride, usual.stride) +
           show("padding", conv.padding, usual.padding) +
           show("dilation", conv.dilation, usual.dilation) +
           show("groups", conv.groups, usual.groups) + show("bias", conv.bias, usual.bias) +
           show("initial_scale", conv.initial_scale, usual.initial_scale);
  }
  std::string operator()(const LinearSpec& linear) const {
    return fmt::format(", out = {}", linear.out_features) + show("bias", linear.bias, true) +
           show("initial_scale", linear.initial_scale, 1.0);
  }
  std::string operator()(const SparseLinearSpec& sparse) const {
    return fmt::format(", matrix = \"{}\"", matrix_file_name(sparse)) +
           show("bias", sparse.bias, true) + show("initial_bias", sparse.initial_bias, 0.0);
  }
  std::string operator()(const ActivationSpec& activation) const {
    if (activation.kind == ActivationKind::leaky_relu) {
      return show("slope", activation.slope, ActivationSpec{}.slope);
    }
    if (activation.kind != ActivationKind::clip) return "";
    return show("ceiling", activation.ceiling, ActivationSpec{}.ceiling);
  }
  std::string operator()(const BatchNormSpec& norm) const {
    const BatchNormSpec usual;
    return show("epsilon", norm.epsilon, usual.epsilon) +
           show("momentum", norm.momentum, usual.momentum) +
           (norm.centered ? "" : ", centered = false");
  }
  std::string operator()(const PoolSpec& pool) const {
    return show("kernel", pool.kernel, Extent2{0, 0}) + show("stride", pool.stride, pool.kernel) +
           show("padding", pool.padding, PoolSpec{}.padding) +
           show("ceil_mode", pool.ceil_mode, PoolSpec{}.ceil_mode) +
           show("count_include_pad", pool.count_include_pad, PoolSpec{}.count_include_pad);
  }
  std::string operator()(const DropoutSpec& dropout) const {
    return fmt::format(", probability = {}", dropout.probability);
  }
  template <class Other>
  std::string operator()(const Other&) const {
    return "";
  }
};

}  // namespace

FileLayer read_layer(const TomlValue& value, const std::string& file, const std::string& block,
                     std::int64_t classes) {
  const TomlReader untyped(value, file, block + ", a layer");
  const std::string type = read_type(untyped);
  const TomlReader reader(value, file, fmt::format("{}, {}", block, type));
  Keys known{"type", "name", "from"};
  const Keys& own = keys_by_type().at(type);
  known.insert(known.end(), own.begin(), own.end());
  reader.only(known);
  FileLayer layer{
      .layer = read_spec(reader, type, file, classes), .name = {}, .from = {}, .line = value.line};
  if (reader.find("name") != nullptr) layer.name = reader.text("name", "");
  if (const TomlValue* from = reader.find("from")) layer.from = read_from(reader, *from);
  return layer;
}

std::string matrix_file_name(const SparseLinearSpec& sparse) {
  Hash hash;
  hash.add(tensor::pattern_hash(*sparse.pattern));
  if (sparse.values != nullptr) {
    hash.add(sparse.values->data(), sparse.values->size() * sizeof(float));
  }
  return hash.hex() + ".mtx";
}

std::string write_layer(const LayerSpec& layer) {
  return fmt::format("type = \"{}\"", kind_name(layer)) + std::visit(WriteLayer{}, layer);
}

}  // namespace plait::model
