// Groups first by what reads what, then by names.
#include "onnx/block_groups.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "graph/default_names.hpp"

namespace plait::onnx {

namespace {

using Layers = std::vector<std::size_t>;

template <class... Kinds>
bool is_one_of(const ops::Operation& layer) {
  return (std::holds_alternative<Kinds>(layer) || ...);
}

bool has_weights(const ImportedLayer& layer) { return !layer.parameters.empty(); }

/// Whether the layer can follow `before` in its block. The usual head, pool - flatten - linear, is
/// one block.
bool follows(const ImportedLayer& layer, const ImportedLayer& before) {
  if (is_one_of<ops::Linear>(layer.layer)) {
    return is_one_of<ops::Flatten>(before.layer);
  }
  return is_one_of<ops::BatchNorm, ops::Activation, ops::Dropout, ops::Flatten,
                   ops::ChannelShuffle>(layer.layer);
}

std::vector<Layers> grouped(const ImportedNetwork& network) {
  std::vector<int> readers(network.layers.size(), 0);
  for (const ImportedLayer& layer : network.layers) {
    for (const int input : layer.inputs) {
      if (input >= 0) ++readers[static_cast<std::size_t>(input)];
    }
  }
  std::vector<Layers> groups;
  std::vector<std::size_t> group_of(network.layers.size());
  for (std::size_t i = 0; i < network.layers.size(); ++i) {
    const ImportedLayer& layer = network.layers[i];
    const int input = layer.inputs[0];
    const auto before = static_cast<std::size_t>(std::max(input, 0));
    const bool joins = layer.inputs.size() == 1 && input >= 0 && readers[before] == 1 &&
                       follows(layer, network.layers[before]);
    group_of[i] = joins ? group_of[before] : groups.size();
    if (!joins) groups.emplace_back();
    groups[group_of[i]].push_back(i);
  }
  return groups;
}

/// The layers with parameters whose place in PyTorch is known.
Layers placed(const ImportedNetwork& network, const Layers& group) {
  Layers some;
  for (const std::size_t i : group) {
    if (has_weights(network.layers[i]) && !network.layers[i].path.empty()) some.push_back(i);
  }
  return some;
}

/// "layer1.0" of layer1.0.conv1 and layer1.0.bn1; "" where they have nothing in common.
std::string common_parent(const ImportedNetwork& network, const Layers& layers) {
  const auto parent = [](std::string path) {
    const std::size_t dot = path.rfind('.');
    return dot == std::string::npos ? std::string() : path.substr(0, dot);
  };
  std::string common = parent(network.layers[layers[0]].path);
  for (const std::size_t i : layers) {
    const std::string& path = network.layers[i].path;
    while (!common.empty() && !path.starts_with(common + ".")) common = parent(common);
    if (!common.empty() && path.substr(common.size() + 1) == "input") return "";
  }
  return common;
}

/// Two layers with parameters stay together if a name that no other group wants is before both.
std::vector<Layers> split_by_names(const ImportedNetwork& network, const std::vector<Layers>& all) {
  std::map<std::string, int> wanted;
  const auto parent_of = [&](const Layers& group) -> std::string {
    const Layers some = placed(network, group);
    return some.size() < 2 ? "" : common_parent(network, some);
  };
  for (const Layers& group : all) ++wanted[parent_of(group)];
  std::vector<Layers> result;
  for (const Layers& group : all) {
    const std::string parent = parent_of(group);
    const bool stays =
        placed(network, group).size() < 2 || (!parent.empty() && wanted[parent] == 1);
    bool has_one = false;
    Layers part;
    for (const std::size_t i : group) {
      const bool weights = has_weights(network.layers[i]);
      if (!stays && weights && has_one) {
        result.push_back(std::move(part));
        part.clear();
      }
      has_one = has_one || weights;
      part.push_back(i);
    }
    result.push_back(std::move(part));
  }
  return result;
}

class Namer {
 public:
  explicit Namer(const ImportedNetwork& network) : network_(network) {}

  BlockGroup name(Layers layers) {
    const Layers some = placed(network_, layers);
    std::string block = some.empty()       ? plain_name(layers)
                        : some.size() == 1 ? network_.layers[some[0]].path
                                           : common_parent(network_, some);
    BlockGroup group{.name = block, .layers = layers, .names = {}};
    std::vector<ops::Operation> others;
    for (const std::size_t i : layers) {
      if (std::ranges::find(some, i) == some.end()) others.push_back(network_.layers[i].layer);
    }
    std::vector<std::string> usual = graph::default_names(others);
    std::set<std::string> taken;
    for (const std::size_t i : some) {
      const std::string& path = network_.layers[i].path;
      taken.insert(some.size() == 1 ? "" : path.substr(block.size() + 1));
    }
    auto next = usual.begin();
    for (const std::size_t i : layers) {
      const bool is_placed = std::ranges::find(some, i) != some.end();
      const std::string& path = network_.layers[i].path;
      group.names.push_back(!is_placed         ? unique(*next++, taken)
                            : some.size() == 1 ? ""
                                               : path.substr(block.size() + 1));
    }
    for (int i = 2; !is_free(group); ++i) group.name = fmt::format("{}_{}", block, i);
    blocks_.insert(group.name);
    for (const std::string& name : group.names) full_names_.insert(full_name(group, name));
    return group;
  }

 private:
  static std::string full_name(const BlockGroup& group, const std::string& name) {
    return name.empty() ? group.name : group.name + "." + name;
  }
  /// Whether no block has its name, and no layer that of one of its layers.
  bool is_free(const BlockGroup& group) const {
    return !blocks_.contains(group.name) &&
           std::ranges::none_of(group.names, [&](const std::string& name) {
             return full_names_.contains(full_name(group, name));
           });
  }
  std::string plain_name(const Layers& layers) const {
    const ImportedLayer& first = network_.layers[layers[0]];
    const std::string word = graph::default_names({first.layer})[0];
    if (first.path.empty()) return fmt::format("block{}", blocks_.size() + 1);
    return first.path.find(word) != std::string::npos ? first.path : first.path + "." + word;
  }
  static std::string unique(const std::string& name, std::set<std::string>& taken) {
    std::string result = name;
    for (int i = 2; !taken.insert(result).second; ++i) result = fmt::format("{}_{}", name, i);
    return result;
  }

  const ImportedNetwork& network_;
  std::set<std::string> blocks_;
  std::set<std::string> full_names_;  ///< of layers
};

}  // namespace

std::vector<BlockGroup> block_groups(const ImportedNetwork& network) {
  Namer namer(network);
  std::vector<BlockGroup> groups;
  for (Layers& layers : split_by_names(network, grouped(network))) {
    groups.push_back(namer.name(std::move(layers)));
  }
  return groups;
}

}  // namespace plait::onnx
