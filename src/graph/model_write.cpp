// write_model of model_file.hpp: every layer on its own line, names and origins only where they are
// not the default.
#include <fmt/format.h>

#include <functional>
#include <map>

#include "graph/default_names.hpp"
#include "graph/input_type.hpp"
#include "graph/matrix_market.hpp"
#include "graph/model_file.hpp"
#include "graph/model_layers.hpp"

namespace plait::graph {

namespace {

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (code < 0x20 || code == 0x7F) {
      out += fmt::format("\\u{:04X}", code);
    } else {
      out += c;
    }
  }
  return out + '"';
}

/// Names of what the blocks of a model read: an empty one where the block stands alone.
using InputName = std::function<std::string(int number)>;

std::string list_of(const std::vector<std::string>& names) {
  return names.size() == 1 ? names.front() : fmt::format("[{}]", fmt::join(names, ", "));
}

std::string from_of(const BlockSpec& block, const Node& node, const InputName& name_of_input) {
  std::vector<std::string> names;
  for (int input : node.inputs) {
    names.push_back(quoted(input < 0 ? name_of_input(number_of_input(input))
                                     : block.nodes[static_cast<std::size_t>(input)].name));
  }
  return list_of(names);
}

/// Without `from` a layer reads the one before, the first one all inputs of the block.
std::vector<int> usual_inputs(const BlockSpec& block, std::size_t node) {
  if (node > 0) return {static_cast<int>(node) - 1};
  std::vector<int> all{kBlockInput};
  for (int k = 1; k < static_cast<int>(block.inputs.size()); ++k) all.push_back(block_input(k));
  return all;
}

std::string write_block(const ModelSpec& model, std::size_t index) {
  const BlockSpec& block = model.blocks[index];
  const InputName name_of_input = [&](int number) -> std::string {
    if (block.inputs.size() < 2) return number == 0 ? "input" : fmt::format("input{}", number + 1);
    const int read = block.inputs[static_cast<std::size_t>(number)];
    return read == kModelInput ? "input" : model.blocks[static_cast<std::size_t>(read)].name;
  };
  std::vector<ops::Operation> layers;
  for (const Node& node : block.nodes) layers.push_back(node.layer);
  const std::vector<std::string> names = default_names(layers);
  std::string text = fmt::format("\n[[block]]\nname = {}\n", quoted(block.name));
  if (!block.inputs.empty()) {
    std::vector<std::string> inputs;
    for (const int read : block.inputs) {
      inputs.push_back(quoted(
          read == kModelInput ? "input" : model.blocks[static_cast<std::size_t>(read)].name));
    }
    text += fmt::format("inputs = [{}]\n", fmt::join(inputs, ", "));
  }
  text += "layers = [\n";
  for (std::size_t i = 0; i < block.nodes.size(); ++i) {
    const Node& node = block.nodes[i];
    text += "  {";
    if (node.name != names[i]) text += fmt::format("name = {}, ", quoted(node.name));
    text += write_layer(node.layer);
    if (node.inputs != usual_inputs(block, i)) {
      text += ", from = " + from_of(block, node, name_of_input);
    }
    if (!node.weights.empty()) text += ", weights = " + quoted(node.weights);
    text += "},\n";
  }
  return text + "]\n";
}

}  // namespace

std::string write_model(const ModelSpec& model) {
  std::string text = fmt::format("name = {}\ninput = [{}]\n", quoted(model.name),
                                 fmt::join(model.input.dims(), ", "));
  if (model.input_type != tensor::DType::f32) {
    text += fmt::format("input_type = \"{}\"\n", word_of(model.input_type));
  }
  for (std::size_t i = 0; i < model.blocks.size(); ++i) text += write_block(model, i);
  return text;
}

std::vector<MatrixFile> matrix_files(const ModelSpec& model) {
  std::map<std::string, std::string> texts;  // layers that are equal share a file
  for (const BlockSpec& block : model.blocks) {
    for (const Node& node : block.nodes) {
      const auto* sparse = std::get_if<ops::SparseLinear>(&node.layer);
      if (sparse == nullptr) continue;
      std::string& text = texts[matrix_file_name(*sparse)];
      if (text.empty()) text = write_matrix_market({sparse->pattern, sparse->values});
    }
  }
  std::vector<MatrixFile> files;
  for (auto& [name, text] : texts) files.push_back({name, std::move(text)});
  return files;
}

}  // namespace plait::graph
