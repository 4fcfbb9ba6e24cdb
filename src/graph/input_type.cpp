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
