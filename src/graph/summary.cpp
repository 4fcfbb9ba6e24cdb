// Layers as short text, and the table of a model.
#include "graph/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "graph/macs.hpp"
#include "graph/shapes.hpp"

namespace plait::graph {

namespace {

/// 39518208 -> "39.5 M".
std::string with_unit(std::int64_t number) {
  constexpr std::array<char, 6> units{'k', 'M', 'G', 'T', 'P', 'E'};
  if (number < 1000) return std::to_string(number);
  auto value = static_cast<double>(number) / 1000;
  std::size_t unit = 0;
  for (; value >= 999.5 && unit + 1 < units.size(); ++unit) value /= 1000;
  const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f} {}", value, decimals, units[unit]);
}

/// "conv3x3 8, bn", and "[b, stem] add" where the file names what the block reads; of many blocks
/// the first and the last.
std::string layers_text(const ModelSpec& model, const BlockSpec& block) {
  std::vector<std::string> inputs;
  for (const int read : block.inputs) {
    inputs.push_back(read == kModelInput ? "input"
                                         : model.blocks[static_cast<std::size_t>(read)].name);
  }
  if (inputs.size() > 4) {
    inputs = {fmt::format("{} .. {}: {}", inputs.front(), inputs.back(), inputs.size())};
  }
  std::vector<std::string> layers;
  for (const Node& node : block.nodes) {
    layers.push_back(ops::text_of(node.layer));
    if (!node.weights.empty()) layers.back() += fmt::format(" (weights of {})", node.weights);
  }
  return fmt::format("{}{}", inputs.empty() ? "" : fmt::format("[{}] ", fmt::join(inputs, ", ")),
                     fmt::join(layers, ", "));
}

}  // namespace

std::string summary(const ModelSpec& model) {
  const std::vector<tensor::Shape> borders = border_shapes(model);
  const std::vector<BlockCost> costs = block_costs(model);
  std::vector<Row> rows{{"block", "layers", "output", "parameters", "MACs"},
                        {"input", model.input_type == tensor::DType::i32 ? "token ids" : "",
                         model.input.to_string(), "", ""}};
  for (std::size_t i = 0; i < model.blocks.size();) {
    const std::string layers = layers_text(model, model.blocks[i]);
    std::size_t end = i + 1;
    while (end < model.blocks.size() && costs[end] == costs[i] &&
           borders[end + 1] == borders[i + 1] && layers_text(model, model.blocks[end]) == layers) {
      ++end;
    }
    if (end - i < 3) end = i + 1;
    const auto count = static_cast<std::int64_t>(end - i);
    std::string name = model.blocks[i].name;
    if (count > 1) name += fmt::format(" .. {} ({}x)", model.blocks[end - 1].name, count);
    rows.push_back({std::move(name), layers, borders[i + 1].to_string(),
                    with_commas(count * costs[i].parameters), with_unit(count * costs[i].macs)});
    i = end;
  }
  const BlockCost total = model_cost(model);
  rows.push_back({"total", fmt::format("{} blocks", model.blocks.size()),
                  borders.back().to_string(), with_commas(total.parameters),
                  with_unit(total.macs)});
  return table(rows, 3, kLineColumns);
}

}  // namespace plait::graph
