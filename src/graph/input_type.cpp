// Words, checks and the limit of integer inputs.
#include "graph/input_type.hpp"

#include <filesystem>

#include "base/error.hpp"
#include "base/nearest.hpp"
#include "graph/model_file.hpp"

namespace plait::graph {

std::string_view word_of(tensor::DType dtype) {
  return dtype == tensor::DType::i32 ? "int32" : "float32";
}

tensor::DType parse_input_type(const std::string& word, const std::string& where) {
  for (const tensor::DType dtype : {tensor::DType::f32, tensor::DType::i32}) {
    if (word == word_of(dtype)) return dtype;
  }
  const std::string shown = word.substr(0, 60);
  user_error("{}input_type is '{}'{}; known are float32 and int32", where, shown,
             did_you_mean(shown, {"float32", "int32"}));
}

tensor::DType read_input_type(const TomlReader& reader) {
  const TomlValue* value = reader.find("input_type");
  if (value == nullptr) return tensor::DType::f32;
  return parse_input_type(reader.text("input_type", ""), reader.place(value->line));
}

tensor::DType input_type_of(const std::string& name_or_file) {
  if (!name_or_file.ends_with(".toml")) return tensor::DType::f32;
  const TomlValue document = parse_toml(model_file_text(name_or_file), name_or_file);
  return read_input_type(TomlReader(document, name_or_file, ""));
}

namespace {

/// Of the first layer of the first block; empty where there is none.
std::string first_layer_type(const TomlReader& model, const std::string& file) {
  const TomlValue::Array& blocks = model.array("block");
  if (blocks.empty()) return {};
  const TomlReader block(blocks.front(), file, "block 1");
  const TomlValue::Array& layers = block.array("layers");
  if (layers.empty()) return {};
  return TomlReader(layers.front(), file, "block 1, a layer").text("type", "");
}

}  // namespace

std::optional<tensor::Shape> declared_input(const std::string& name_or_file) {
  if (!name_or_file.ends_with(".toml")) return {};
  const TomlValue document = parse_toml(model_file_text(name_or_file), name_or_file);
  return declared_input(TomlReader(document, name_or_file, ""));
}

std::optional<tensor::Shape> declared_input(const TomlReader& reader) {
  const TomlValue* value = reader.find("input");
  if (value == nullptr) return {};
  std::vector<std::int64_t> dims;
  for (const TomlValue& dim : reader.array("input")) {
    dims.push_back(reader.integer_of(dim, "input", {1, ops::kMaxChannels}));
  }
  if (dims.empty() || dims.size() > 4) {
    user_error("{}input must have 1 to 4 extents but has {}", reader.place(value->line),
               dims.size());
  }
  return tensor::Shape(std::move(dims));
}

bool reads_sequences(const std::string& name_or_file) {
  if (!name_or_file.ends_with(".toml")) return false;
  const TomlValue document = parse_toml(model_file_text(name_or_file), name_or_file);
  const TomlReader reader(document, name_or_file, "");
  if (read_input_type(reader) != tensor::DType::f32) return false;
  if (const std::optional<tensor::Shape> input = declared_input(reader)) return input->rank() == 2;
  const std::string first = first_layer_type(reader, name_or_file);
  return first == "convolution_1d" || first == "linear";
}

void check_input_types(const BlockSpec& block, const std::vector<bool>& ids,
                       const std::string& where) {
  for (const Node& node : block.nodes) {
    const bool wants_ids = ops::id_limit(node.layer) > 0;
    for (const int input : node.inputs) {
      const auto number = static_cast<std::size_t>(input < 0 ? number_of_input(input) : 0);
      const bool has_ids = input < 0 && number < ids.size() && ids[number];
      if (has_ids == wants_ids) continue;
      user_error("{}, layer '{}': {}", where, node.name,
                 wants_ids
                     ? std::string("an embedding reads token ids, the model's input of input_type "
                                   "= \"int32\", but here it reads floats")
                     : fmt::format("{} reads floats, but the model's input are token ids "
                                   "(input_type = \"int32\"), which only an embedding reads",
                                   ops::name_of(node.layer)));
    }
  }
}

void IdLimit::add(const BlockSpec& spec) {
  for (const Node& node : spec.nodes) {
    const std::int64_t one = ops::id_limit(node.layer);
    if (one == 0 || (limit > 0 && one >= limit)) continue;
    limit = one;
    block = spec.name;
  }
}

IdLimit id_limit(const ModelSpec& model) {
  IdLimit limit;
  for (const BlockSpec& block : model.blocks) limit.add(block);
  return limit;
}

}  // namespace plait::graph
