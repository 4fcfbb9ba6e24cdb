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
#include "graph/check.hpp"
#include "graph/default_names.hpp"
#include "graph/input_type.hpp"
#include "graph/model_splits.hpp"
#include "graph/shapes.hpp"
#include "graph/toml_value.hpp"
#include "graph/zoo.hpp"

namespace plait::graph {

namespace {

struct FileContext {
  const std::string& file;
  std::int64_t classes = 0;
  ModelSplits& splits;
  std::set<std::string> names{};                     ///< of all blocks, repeated ones once
  std::map<std::string, int, std::less<>> blocks{};  ///< read so far, by name
  std::vector<Tie> ties{};                           ///< of the blocks read so far
};

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

BlockInputs read_inputs(const TomlReader& reader, const std::string& self,
                        const FileContext& context) {
  BlockInputs inputs;
  const TomlValue* value = reader.find("inputs");
  if (value == nullptr) {
    context.splits.refuse_silent_reader(reader.place(reader.line()));
    return inputs;
  }
  for (const TomlValue& one : reader.array("inputs")) {
    const std::string name = reader.text_of(one, "inputs");
    if (name == "input" && context.names.contains(name)) {
      user_error("{}inputs: 'input' is the network's own; rename the block that is called so too",
                 reader.place(value->line));
    }
    const auto found = context.blocks.find(name);
    const bool known_block = name == "input" || found != context.blocks.end();
    const std::optional<int> output =
        known_block ? std::nullopt : context.splits.output(name, reader.place(value->line));
    if (!known_block && !output) {
      std::vector<std::string> known{"input"};
      for (const auto& [block, index] : context.blocks) known.push_back(block);
      const std::string shown = name.substr(0, 60);
      if (context.names.contains(name) && !context.blocks.contains(name + ".0")) {
        const char* which = name == self ? "the block itself" : "a later block";
        user_error("{}inputs: '{}' is {}; a block reads earlier blocks only, there are no cycles",
                   reader.place(value->line), shown, which);
      }
      user_error("{}inputs: '{}' is neither an earlier block nor 'input'{}",
                 reader.place(value->line), shown, did_you_mean(shown, known));
    }
    if (std::ranges::find(inputs.names, name) != inputs.names.end()) {
      user_error("{}inputs names '{}' twice; its layers may read it more than once",
                 reader.place(value->line), name);
    }
    inputs.blocks.push_back(output ? *output : name == "input" ? kModelInput : found->second);
    inputs.names.push_back(name);
  }
  if (inputs.blocks.empty()) {
    user_error("{}inputs is empty: a block reads something", reader.place(value->line));
  }
  return inputs;
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
  const TomlValue* value = reader.find("input");
  if (value == nullptr) {
    if (data.rank() == 0) {
      user_error(
          "{}: the model has no input shape; add input = [channels, height, width], or "
          "`data_shape` CxHxW",
          reader.file());
    }
    return data;
  }
  std::vector<std::int64_t> dims;
  for (const TomlValue& dim : reader.array("input")) {
    dims.push_back(reader.integer_of(dim, "input", {1, ops::kMaxChannels}));
  }
  if (dims.empty() || dims.size() > 4) {
    user_error("{}input must have 1 to 4 extents but has {}", reader.place(value->line),
               dims.size());
  }
  tensor::Shape input(std::move(dims));
  if (data.rank() != 0 && !(input == data)) {
    user_error("{}the model's input is {} but the data has shape {}; change or remove 'input'",
               reader.place(value->line), input, data);
  }
  return input;
}

std::string block_name(const TomlValue& value, const std::string& file, std::size_t index) {
  const TomlReader reader(value, file, fmt::format("block {}", index + 1));
  return reader.text("name", fmt::format("block{}", index + 1));
}

}  // namespace

ModelSpec parse_model(std::string_view text, const std::string& file, const tensor::Shape& input,
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
  for (std::size_t i = 0; i < blocks.size(); ++i)
    context.names.insert(block_name(blocks[i], file, i));
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
  splits.check_read();
  check_model(model, file);
  splits.check_sizes();
  tie_weights(model, context.ties);
  const tensor::Shape output = border_shapes(model).back();
  if (output[0] != classes || (output.rank() != 1 && output.rank() != 3)) {
    user_error(
        "{}: the last block '{}' returns {} but the data has {} classes; end with out = "
        "\"classes\"",
        file, model.blocks.back().name, output, classes);
  }
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

ModelSpec load_model(const std::string& name_or_file, const tensor::Shape& input, int classes) {
  return name_or_file.ends_with(".toml") ? read_model_file(name_or_file, input, classes)
                                         : make_model(name_or_file, input, classes);
}

}  // namespace plait::graph
