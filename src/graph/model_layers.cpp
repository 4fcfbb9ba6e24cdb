// Layers of a model file, read and written by the table of operations. Usual values are left out
// when written.
#include "graph/model_layers.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/error.hpp"
#include "base/hash.hpp"
#include "base/nearest.hpp"
#include "graph/matrix_market.hpp"
#include "ops/table.hpp"

namespace plait::graph {

namespace {

using Keys = std::vector<std::string>;

/// What others call this operation, for those who write their word.
std::string known_elsewhere(std::string type) {
  if (type.starts_with("nn.")) type.erase(0, 3);
  if (type == "Split") return " (did you mean 'split'?)";
  for (const ops::OperationInfo& info : ops::operations()) {
    if (type == info.torch || type == info.onnx) {
      return fmt::format(" (did you mean '{}'?)", info.name);
    }
  }
  return "";
}

constexpr std::string_view kSplit = "split";
constexpr std::size_t kMostOutputs = 1000;

bool is_split(const TomlReader& reader) {
  const TomlValue* type = reader.find("type");
  const auto* text = type == nullptr ? nullptr : std::get_if<std::string>(&type->data);
  return text != nullptr && *text == kSplit;
}

const ops::OperationInfo& read_type(const TomlReader& reader) {
  Keys types;
  for (const ops::OperationInfo& info : ops::operations()) types.emplace_back(info.name);
  types.emplace_back(kSplit);
  std::ranges::sort(types);
  const TomlValue* value = reader.find("type");
  if (value == nullptr) {
    user_error("{}a layer needs a type; known are {}", reader.place(reader.line()),
               fmt::join(types, ", "));
  }
  std::string type = reader.text("type", "");
  if (const ops::OperationInfo* found = ops::find_operation(type)) return *found;
  if (type.size() > 60) type = type.substr(0, 60) + "...";
  const std::string elsewhere = known_elsewhere(type);
  user_error("{}unknown layer type '{}'{}; known are {}", reader.place(value->line), type,
             elsewhere.empty() ? did_you_mean(type, types) : elsewhere, fmt::join(types, ", "));
}

/// A number for both, or [height, width].
ops::Extent2 extent_of(const TomlReader& reader, const TomlValue& value, const ops::Field& field) {
  const Range range{static_cast<std::int64_t>(field.least), static_cast<std::int64_t>(field.most)};
  if (const auto* pair = std::get_if<TomlValue::Array>(&value.data)) {
    if (pair->size() != 2) {
      user_error("{}{} must be a number or [height, width] but has {} numbers",
                 reader.place(value.line), field.key, pair->size());
    }
    return {reader.integer_of((*pair)[0], field.key, range),
            reader.integer_of((*pair)[1], field.key, range)};
  }
  const std::int64_t both = reader.integer_of(value, field.key, range);
  return {both, both};
}

/// Of the output: "classes" is a number, too.
std::int64_t integer_of(const TomlReader& reader, const TomlValue& value, const ops::Field& field,
                        std::int64_t classes) {
  if (const auto* text = std::get_if<std::string>(&value.data); text && field.key == "out") {
    if (*text == "classes") return classes;
    user_error("{}out must be a number or \"classes\"", reader.place(value.line));
  }
  return reader.integer_of(
      value, field.key,
      {static_cast<std::int64_t>(field.least), static_cast<std::int64_t>(field.most)});
}

/// Further bounds of reals are the operation's own to check.
ops::FieldValue read_field(const TomlReader& reader, const ops::Field& field,
                           const ops::FieldValue& usual, std::int64_t classes) {
  const TomlValue* value = reader.find(field.key);
  if (value == nullptr) {
    if (field.required) user_error("{}'{}' is missing", reader.place(reader.line()), field.key);
    return usual;
  }
  if (std::holds_alternative<bool>(usual)) return reader.boolean(field.key, false);
  if (std::holds_alternative<double>(usual)) {
    const double number = reader.number(field.key, 0);
    if (!std::isfinite(number)) {
      user_error("{}{} must be a finite number but is {}", reader.place(value->line), field.key,
                 number);
    }
    return number;
  }
  if (std::holds_alternative<ops::Extent2>(usual)) return extent_of(reader, *value, field);
  return integer_of(reader, *value, field, classes);
}

/// The matrix lies beside the model's file.
void read_matrix(ops::SparseLinear& sparse, const TomlReader& reader, const std::string& file) {
  const std::string name = reader.text("matrix", "");
  if (name.empty()) {
    user_error("{}'matrix' is missing: the name of a Matrix Market file",
               reader.place(reader.line()));
  }
  const std::filesystem::path path = std::filesystem::path(file).parent_path() / name;
  const tensor::SparseMatrix matrix = read_matrix_market(path.string());
  sparse.pattern = matrix.pattern;
  sparse.values = matrix.values;
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

}  // namespace

namespace {

FileLayer read_split(const TomlValue& value, const std::string& file, const std::string& block) {
  const TomlReader reader(value, file, block + ", split");
  reader.only({"type", "name", "from", "axis", "sizes"});
  FileSplit split{.axis = reader.integer("axis", 0, {0, 7}), .sizes = {}};
  for (const TomlValue& size : reader.array("sizes")) {
    split.sizes.push_back(reader.integer_of(size, "sizes", {1, ops::kMaxChannels}));
  }
  if (split.sizes.empty() || split.sizes.size() > kMostOutputs) {
    user_error("{}a split needs sizes = [...], 1 to {} of them, but has {}",
               reader.place(reader.line()), kMostOutputs, split.sizes.size());
  }
  FileLayer layer{.layer = ops::Slice{},
                  .name = reader.text("name", "split"),
                  .from = {},
                  .line = value.line,
                  .split = std::move(split)};
  if (const TomlValue* from = reader.find("from")) layer.from = read_from(reader, *from);
  return layer;
}

}  // namespace

FileLayer read_layer(const TomlValue& value, const std::string& file, const std::string& block,
                     std::int64_t classes) {
  const TomlReader untyped(value, file, block + ", a layer");
  if (is_split(untyped)) return read_split(value, file, block);
  const ops::OperationInfo& info = read_type(untyped);
  const TomlReader reader(value, file, fmt::format("{}, {}", block, info.name));
  FileLayer layer{.layer = info.usual, .name = {}, .from = {}, .weights = {}, .line = value.line};
  auto* sparse = std::get_if<ops::SparseLinear>(&layer.layer);
  Keys known{"type", "name", "from", "weights"};
  if (sparse != nullptr) known.emplace_back("matrix");
  for (const ops::Field& field : info.fields) known.emplace_back(field.key);
  reader.only(known);
  if (sparse != nullptr) read_matrix(*sparse, reader, file);
  for (const ops::Field& field : info.fields) {
    field.set(layer.layer,
              read_field(reader, field, ops::usual_value(info, field, layer.layer), classes));
  }
  if (reader.find("name") != nullptr) layer.name = reader.text("name", "");
  if (const TomlValue* from = reader.find("from")) layer.from = read_from(reader, *from);
  if (reader.find("weights") != nullptr) layer.weights = reader.text("weights", "");
  return layer;
}

std::string matrix_file_name(const ops::SparseLinear& sparse) {
  Hash hash;
  hash.add(tensor::pattern_hash(*sparse.pattern));
  if (sparse.values != nullptr) {
    hash.add(sparse.values->data(), sparse.values->size() * sizeof(float));
  }
  return hash.hex() + ".mtx";
}

std::string write_layer(const ops::Operation& layer) {
  const ops::OperationInfo& info = ops::info_of(layer);
  std::string text = fmt::format("type = \"{}\"", info.name);
  if (const auto* sparse = std::get_if<ops::SparseLinear>(&layer)) {
    text += fmt::format(", matrix = \"{}\"", matrix_file_name(*sparse));
  }
  for (const ops::Field& field : info.fields) {
    const ops::FieldValue value = field.get(layer);
    const bool said = field.always || value != ops::usual_value(info, field, layer);
    if (said) text += fmt::format(", {} = {}", field.key, ops::text_of(value));
  }
  return text;
}

}  // namespace plait::graph
