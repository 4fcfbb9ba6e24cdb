// write_model of model_file.hpp: every layer on its own line, names and origins only where they are
// not the default.
#include <fmt/format.h>

#include <map>

#include "model/default_names.hpp"
#include "model/matrix_market.hpp"
#include "model/model_file.hpp"
#include "model/model_layers.hpp"

namespace plait::model {

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

std::string from_of(const BlockSpec& block, const Node& node) {
  std::string list;
  for (int input : node.inputs) {
    if (!list.empty()) list += ", ";
    list += input == kBlockInput ? "\"input\""
                                 : quoted(block.nodes[static_cast<std::size_t>(input)].name);
  }
  return node.inputs.size() == 1 ? list : "[" + list + "]";
}

std::string write_block(const BlockSpec& block) {
  std::vector<LayerSpec> layers;
  for (const Node& node : block.nodes) layers.push_back(node.layer);
  const std::vector<std::string> names = default_names(layers);
  std::string text = fmt::format("\n[[block]]\nname = {}\nlayers = [\n", quoted(block.name));
  for (std::size_t i = 0; i < block.nodes.size(); ++i) {
    const Node& node = block.nodes[i];
    text += "  {";
    if (node.name != names[i]) text += fmt::format("name = {}, ", quoted(node.name));
    text += write_layer(node.layer);
    const std::vector<int> usual{static_cast<int>(i) - 1};
    if (node.inputs != usual) text += ", from = " + from_of(block, node);
    text += "},\n";
  }
  return text + "]\n";
}

}  // namespace

std::string write_model(const ModelSpec& model) {
  std::string text = fmt::format("name = {}\ninput = [{}]\n", quoted(model.name),
                                 fmt::join(model.input.dims(), ", "));
  for (const BlockSpec& block : model.blocks) text += write_block(block);
  return text;
}

std::vector<MatrixFile> matrix_files(const ModelSpec& model) {
  std::map<std::string, std::string> texts;  // layers that are equal share a file
  for (const BlockSpec& block : model.blocks) {
    for (const Node& node : block.nodes) {
      const auto* sparse = std::get_if<SparseLinearSpec>(&node.layer);
      if (sparse == nullptr) continue;
      std::string& text = texts[matrix_file_name(*sparse)];
      if (text.empty()) text = write_matrix_market({sparse->pattern, sparse->values});
    }
  }
  std::vector<MatrixFile> files;
  for (auto& [name, text] : texts) files.push_back({name, std::move(text)});
  return files;
}

}  // namespace plait::model
