// BlockBuilder: a block of a model file that grows layer by layer, with its layers found by name.
// Inside this room only.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/error.hpp"
#include "base/nearest.hpp"
#include "graph/model_layers.hpp"
#include "graph/tied.hpp"
#include "graph/toml_value.hpp"

namespace plait::graph {

/// What a block reads, if the file says so: blocks of the model, and their names.
struct BlockInputs {
  std::vector<int> blocks;
  std::vector<std::string> names;
};

class BlockBuilder {
 public:
  BlockBuilder(std::string name, const TomlReader& reader, const BlockInputs& inputs)
      : block_{.name = std::move(name), .nodes = {}, .inputs = inputs.blocks}, reader_(reader) {
    const auto count = static_cast<int>(inputs.names.size());
    for (int k = 0; k < count; ++k) index_[inputs.names[static_cast<std::size_t>(k)]] = start(k);
    if (count < 2) index_["input"] = kBlockInput;
    for (int k = 0; k < std::max(1, count); ++k) all_.push_back(start(k));
  }

  /// A layer without `from` takes the layer before, the first one all inputs of the block. Returns
  /// the last index.
  int append(std::span<const FileLayer> layers) { return append(layers, all_); }
  /// The same where the first one takes `previous`.
  int append(std::span<const FileLayer> layers, std::vector<int> previous) {
    for (const FileLayer& layer : layers) {
      if (layer.from) {
        previous.clear();
        for (const std::string& wanted : *layer.from) previous.push_back(find(wanted, layer.line));
      }
      const int index = block_.join(*layer.name, layer.layer, std::move(previous));
      if (layer.weights) {
        ties_.push_back(
            {.node = index, .name = *layer.weights, .where = reader_.place(layer.line)});
      }
      previous = {index_[*layer.name] = index};
    }
    return previous.front();
  }
  int append_sum(int branch, int skip) {
    return index_["add"] = block_.join("add", ops::Add{}, {branch, skip});
  }
  BlockSpec take(std::vector<Tie>& ties) {
    ties = std::move(ties_);
    return std::move(block_);
  }

 private:
  static int start(int input) { return block_input(input); }

  int find(const std::string& wanted, std::int64_t line) const {
    const auto found = index_.find(wanted);
    if (found != index_.end()) return found->second;
    std::vector<std::string> known;
    for (const auto& [name, index] : index_) known.push_back(name);
    const std::string shown = wanted.substr(0, 60);
    user_error("{}from = '{}' is neither an earlier layer of the block nor {}{}",
               reader_.place(line), shown, all_.size() < 2 ? "'input'" : "one of its inputs",
               did_you_mean(shown, known));
  }

  BlockSpec block_;
  const TomlReader& reader_;
  std::vector<int> all_;  ///< inputs
  std::vector<Tie> ties_;
  std::unordered_map<std::string, int> index_;
};

}  // namespace plait::graph
