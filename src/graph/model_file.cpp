// Blocks and the order of layers of a model file. A single layer is read in model_layers.cpp,
// writing is in model_write.cpp.
#include "graph/model_file.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <span>
#include <sstream>

#include "base/error.hpp"
#include "base/in_file.hpp"
#include "base/nearest.hpp"
#include "graph/block_builder.hpp"
#include "graph/block_inputs.hpp"
#include "graph/check.hpp"
#include "graph/default_names.hpp"
#include "graph/input_type.hpp"
#include "graph/model_outputs.hpp"
#include "graph/model_splits.hpp"
#include "graph/shapes.hpp"
#include "graph/toml_value.hpp"
#include "graph/zoo.hpp"

namespace plait::graph {

namespace {

std::vector<FileLayer> read_layers(const TomlReader& block, std::string_view key,
                                   const FileContext& context) {
  std::vector<FileLayer> layers;
  for (const TomlValue& value : block.array(key)) {
    layers.push_back(read_layer(value, context.file, block.what(), context.classes));
  }
  return layers;
}

/// Fills in the names that the file does not give; `prefix` goes before those only.
void name_layers(std::vector<FileLayer>& layers, const std::string& prefix) {
  std::vector<ops::Operation> specs;
  for (const FileLayer& layer : layers) specs.push_back(layer.layer);
  const std::vector<std::string> names = default_names(specs);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (!layers[i].name) layers[i].name = prefix + names[i];
  }
}

void refuse_splits(const std::vector<FileLayer>& layers, const TomlReader& reader) {
  const auto split =
      std::ranges::find_if(layers, [](const FileLayer& layer) { return layer.split.has_value(); });
  if (split == layers.end()) return;
  user_error("{}a residual block has no split", reader.place(split->line));
}

/// `ties`: those of its layers.
BlockSpec read_block(const TomlReader& reader, const std::string& name, const FileContext& context,
                     std::vector<Tie>& ties) {
  reader.only({"name", "inputs", "layers", "repeat", "residual", "shortcut", "after", "weights"});
  const bool residual = reader.boolean("residual", false);
  for (const char* key : {"shortcut", "after"}) {
    const TomlValue* value = reader.find(key);
    if (value != nullptr && !residual) {
      user_error("{}'{}' is for residual blocks; write residual = true", reader.place(value->line),
                 key);
    }
  }
  std::vector<FileLayer> layers = read_layers(reader, "layers", context);
  if (layers.empty()) user_error("{}the block needs layers = [...]", reader.place(reader.line()));
  const BlockInputs inputs = read_inputs(reader, name, context);
  BlockBuilder builder(name, reader, inputs);
  if (!residual) {
    name_layers(layers, "");
    context.splits.expand(layers, name, reader);
    if (!layers.empty()) builder.append(layers);
    return builder.take(ties);
  }
  if (inputs.blocks.size() > 1) {
    user_error("{}a residual block reads one tensor; inputs names {}",
               reader.place(reader.find("inputs")->line), inputs.blocks.size());
  }
  const std::size_t branch_size = layers.size();
  const std::vector<FileLayer> after = read_layers(reader, "after", context);
  layers.insert(layers.end(), after.begin(), after.end());
  name_layers(layers, "");
  std::vector<FileLayer> shortcut = read_layers(reader, "shortcut", context);
  refuse_splits(layers, reader);
  refuse_splits(shortcut, reader);
  name_layers(shortcut, "shortcut.");
  const std::span<const FileLayer> named(layers);
  const int branch = builder.append(named.first(branch_size));
  const int skip = builder.append(shortcut);
  builder.append(named.subspan(branch_size), {builder.append_sum(branch, skip)});
  return builder.take(ties);
}

tensor::Shape read_input(const TomlReader& reader, const tensor::Shape& data) {
  const std::optional<tensor::Shape> input = declared_input(reader);
  if (!input) {
    if (data.rank() == 0) {
      user_error(
          "{}: the model has no input shape; add input = [channels, height, width], or "
          "`data_shape` CxHxW",
          reader.file());
    }
    return data;
  }
  if (data.rank() != 0 && !(*input == data)) {
    user_error("{}the model's input is {} but the data has shape {}; change or remove 'input'",
               reader.place(reader.find("input")->line), *input, data);
  }
  return *input;
}

std::string block_name(const TomlValue& value, const std::string& file, std::size_t index) {
  const TomlReader reader(value, file, fmt::format("block {}", index + 1));
  return reader.text("name", fmt::format("block{}", index + 1));
}

}  // namespace

ModelSpec parse_network(std::string_view text, const std::string& file, const tensor::Shape& input,
                        int classes) {
  if (classes < 1) user_error("{}: a model needs at least 1 class but was given {}", file, classes);
  const TomlValue document = parse_toml(text, file);
  const TomlReader reader(document, file, "");
  reader.only({"name", "input", "input_type", "block"});
  ModelSpec model{.name = reader.text("name", std::filesystem::path(file).stem().string()),
                  .input = read_input(reader, input),
                  .blocks = {},
                  .input_type = read_input_type(reader)};
  ModelSplits splits(model);
  FileContext context{.file = file, .classes = classes, .splits = splits};
  const TomlValue::Array& blocks = reader.array("block");
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const bool repeated = TomlReader(blocks[i], file, "").find("repeat") != nullptr;
    context.names.emplace(block_name(blocks[i], file, i), repeated);
  }
  std::int64_t layers = 0;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const std::string name = block_name(blocks[i], file, i);
    const TomlReader block(blocks[i], file, fmt::format("block '{}'", name.substr(0, 200)));
    const std::int64_t repeat = block.integer("repeat", 1, {1, kMaxLayers});
    std::vector<Tie> ties;
    BlockSpec spec = read_block(block, name, context, ties);
    if (const TomlValue* weights = block.find("weights")) {
      ties.push_back({.name = block.text("weights", ""), .where = block.place(weights->line)});
    }
    layers += repeat * static_cast<std::int64_t>(spec.nodes.size());
    if (layers > kMaxLayers) {
      user_error("{}more than {} layers in the model", block.place(block.line()), kMaxLayers);
    }
    if (repeat > 1 && spec.inputs.size() > 1) {
      user_error("{}repeat = {}: only a block with one input can be repeated",
                 block.place(block.line()), repeat);
    }
    if (splits.at_end() && block.find("repeat") != nullptr) {
      user_error("{}a block that ends in a split cannot be repeated", block.place(block.line()));
    }
    const int before = static_cast<int>(model.blocks.size()) - 1;
    if (spec.nodes.empty()) {  // a split alone
      if (!ties.empty()) {
        user_error("{}weights = '{}': a split has no parameters", ties.front().where,
                   ties.front().name.substr(0, 60));
      }
      if (spec.inputs.size() > 1) {
        user_error("{}a split reads one tensor", block.place(block.line()));
      }
      splits.finish(name, spec.inputs.empty() ? before : spec.inputs.front());
      continue;
    }
    for (std::int64_t r = 0; r < repeat; ++r) {
      if (block.find("repeat") != nullptr) spec.name = fmt::format("{}.{}", name, r);
      if (r > 0) spec.inputs.clear();  // the one before
      context.blocks.emplace(spec.name, static_cast<int>(model.blocks.size()));
      for (Tie& tie : ties) {
        tie.block = static_cast<int>(model.blocks.size());
        context.ties.push_back(tie);
      }
      model.blocks.push_back(spec);
    }
    if (splits.at_end()) context.blocks.erase(name);  // others read its outputs
    splits.finish(name, static_cast<int>(model.blocks.size()) - 1);
  }
  if (model.blocks.empty()) user_error("{}: the model has no blocks; add [[block]]", file);
  for (const auto& [name, index] : context.blocks) splits.refuse_shadow(name, file + ": ");
  splits.check_read();
  check_model(model, file, [&](const BlockSpec& block, const Node& node, const auto& srcs) {
    if (!srcs.empty()) splits.check_slice(block, node, srcs.front());
  });
  tie_weights(model, context.ties);
  return model;
}

ModelSpec parse_model(std::string_view text, const std::string& file, const tensor::Shape& input,
                      int classes) {
  ModelSpec model = parse_network(text, file, input, classes);
  check_outputs(model, file, classes);
  return model;
}

std::string model_file_text(const std::string& path) {
  check_input_file(path);
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    user_error("{}: there is no such model file", path);
  }
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  if (!stream) user_error("{}: cannot read the model file", path);
  return text.str();
}

ModelSpec read_model_file(const std::string& path, const tensor::Shape& input, int classes) {
  return parse_model(model_file_text(path), path, input, classes);
}

ModelSpec load_network(const std::string& name_or_file, const tensor::Shape& input, int classes) {
  return name_or_file.ends_with(".toml")
             ? parse_network(model_file_text(name_or_file), name_or_file, input, classes)
             : make_model(name_or_file, input, classes);
}

ModelSpec load_model(const std::string& name_or_file, const tensor::Shape& input, int classes) {
  return name_or_file.ends_with(".toml") ? read_model_file(name_or_file, input, classes)
                                         : make_model(name_or_file, input, classes);
}

}  // namespace plait::graph
