// Writes boxes and arrows.
#include "graph/graph_text.hpp"

#include <fmt/format.h>

#include <map>
#include <set>

#include "base/text.hpp"
#include "graph/macs.hpp"
#include "graph/shapes.hpp"
#include "tensor/tensor.hpp"

namespace plait::graph {

namespace {

constexpr std::size_t kLabelColumns = 34;  // layers of a box are folded here
constexpr int kManyReaders = 4;

/// Between quotes.
std::string quoted(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

/// "conv3x3 8, bn, relu" in lines of a few layers.
std::string layers_label(const BlockSpec& block) {
  std::string lines;
  std::string line;
  for (const Node& node : block.nodes) {
    const std::string text = ops::text_of(node.layer);
    if (!line.empty() && line.size() + 2 + text.size() > kLabelColumns) {
      lines += line + ",\\n";
      line.clear();
    }
    line += (line.empty() ? "" : ", ") + quoted(text);
  }
  return lines + line;
}

std::string box(const ModelSpec& model, std::size_t index, const tensor::Shape& dst,
                std::int64_t parameters) {
  const BlockSpec& block = model.blocks[index];
  std::string numbers = dst.to_string();
  if (parameters > 0) {
    numbers += fmt::format(", {} parameter{}", with_commas(parameters), parameters == 1 ? "" : "s");
  }
  return fmt::format("  b{} [label=\"{}\\n{}\\n{}\", fillcolor=\"{}\"];\n", index,
                     quoted(block.name), layers_label(block), numbers,
                     parameters > 0 ? "#dbe9f8" : "#f1f1ee");
}

/// From the owners of weights to the other blocks that use them, dashed.
std::string tied_edges(const ModelSpec& model) {
  std::map<std::string, std::size_t> owners;  // by full name of a layer
  std::set<std::pair<std::size_t, std::size_t>> edges;
  for (std::size_t i = 0; i < model.blocks.size(); ++i) {
    for (const Node& node : model.blocks[i].nodes) {
      owners[full_name(model.blocks[i], node)] = i;
      if (!node.weights.empty()) edges.emplace(owners.at(node.weights), i);
    }
  }
  std::string text;
  for (const auto& [owner, user] : edges) {
    if (owner == user) continue;
    text += fmt::format(
        "  b{} -> b{} [style=dashed, arrowhead=none, constraint=false, label=\" weights\"];\n",
        owner, user);
  }
  return text;
}

}  // namespace

std::string graph_text(const ModelSpec& model) {
  const std::vector<tensor::Shape> borders = border_shapes(model);
  const std::vector<BlockCost> costs = block_costs(model);
  std::string text = fmt::format(
      "digraph \"{}\" {{\n"
      "  node [shape=box, style=\"rounded,filled\", fontname=\"Helvetica\", fontsize=11];\n"
      "  edge [fontname=\"Helvetica\", fontsize=9, fontcolor=\"#555555\", color=\"#777777\"];\n"
      "  input [label=\"input\\n{}{}\", fillcolor=\"#fdf1d3\"];\n",
      quoted(model.name), model.input, model.input_type == tensor::DType::i32 ? " token ids" : "");
  for (std::size_t i = 0; i < model.blocks.size(); ++i) {
    text += box(model, i, borders[i + 1], costs[i].parameters);
  }
  std::vector<int> readers(borders.size(), 0);
  for (std::size_t i = 0; i < model.blocks.size(); ++i) {
    for (const int from : inputs_of(model, i)) ++readers[static_cast<std::size_t>(from + 1)];
  }
  std::vector<bool> said(borders.size(), false);
  for (std::size_t i = 0; i < model.blocks.size(); ++i) {
    for (const int from : inputs_of(model, i)) {
      const auto tensor = static_cast<std::size_t>(from + 1);
      const bool silent = said[tensor] && readers[tensor] > kManyReaders;
      said[tensor] = true;
      text += fmt::format("  {} -> b{}", from < 0 ? "input" : fmt::format("b{}", from), i);
      text += silent ? ";\n"
                     : fmt::format(" [label=\" {}\"];\n",
                                   with_bytes(borders[tensor].elements() * tensor::kFloatBytes));
    }
  }
  return text + tied_edges(model) + "}\n";
}

}  // namespace plait::graph
