// Finds layers by name and compares their parameters.
#include "graph/tied.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <unordered_map>

#include "base/error.hpp"
#include "base/nearest.hpp"
#include "graph/shapes.hpp"

namespace plait::graph {

namespace {

using Parameters = std::vector<ops::ParameterSpec>;

struct LayerPlace {
  int block = 0;
  int node = 0;
  auto operator<=>(const LayerPlace&) const = default;
};

const ops::ParameterSpec* parameter(const Parameters& all, std::string_view name) {
  const auto found = std::ranges::find(all, name, &ops::ParameterSpec::name);
  return found == all.end() ? nullptr : &*found;
}

/// The first parameter that is not the same in both, and how: "weight: 8x3 and 8x4", "bias: 8 and
/// none"; empty: there is none.
std::string difference(const Parameters& owner, const Parameters& user) {
  const auto extent = [](const ops::ParameterSpec* one) {
    return one == nullptr ? std::string("none") : one->shape.to_string();
  };
  std::vector<std::string_view> names;
  for (const Parameters* all : {&owner, &user}) {
    for (const ops::ParameterSpec& one : *all) names.push_back(one.name);
  }
  for (const std::string_view name : names) {
    const ops::ParameterSpec* a = parameter(owner, name);
    const ops::ParameterSpec* b = parameter(user, name);
    if (a == nullptr || b == nullptr || !(a->shape == b->shape)) {
      return fmt::format("{}: {} and {}", name, extent(a), extent(b));
    }
    if (!ops::equal_or_same(a->pattern, b->pattern)) {
      return fmt::format("the elements that {} has", name);
    }
  }
  return {};
}

bool has_tied_weights(const ModelSpec& model) {
  return std::ranges::any_of(model.blocks, [](const BlockSpec& block) {
    return std::ranges::any_of(block.nodes, [](const Node& node) { return !node.weights.empty(); });
  });
}

std::string shown(const std::string& name) { return name.substr(0, 60); }

class Tying {
 public:
  explicit Tying(ModelSpec& model) : model_(model) {
    for (int b = 0; b < static_cast<int>(model.blocks.size()); ++b) {
      const BlockSpec& block = model.blocks[static_cast<std::size_t>(b)];
      blocks_.emplace(block.name, b);
      for (int n = 0; n < static_cast<int>(block.nodes.size()); ++n) {
        layers_.emplace(full_name(block, block.nodes[static_cast<std::size_t>(n)]),
                        LayerPlace{b, n});
      }
    }
    read_parameters();
  }

  void run(const Tie& tie) {
    if (tie.node < 0) return tie_block(tie);
    const LayerPlace user{tie.block, tie.node};
    tie_layer(user, find(tie, user), tie);
  }

  /// Of a model that says its ties itself.
  void check(const LayerPlace& user, const std::string& where) {
    const Tie tie{.block = user.block, .node = user.node, .name = at(user).weights, .where = where};
    const auto found = layers_.find(tie.name);
    if (found == layers_.end()) refuse_unknown(tie, "an earlier layer");
    if (!at(found->second).weights.empty()) {
      user_error("{}weights = '{}': that layer itself uses the weights of '{}'", where,
                 shown(tie.name), shown(at(found->second).weights));
    }
    tie_layer(user, found->second, tie);
  }

 private:
  const BlockSpec& block(int index) const { return model_.blocks[static_cast<std::size_t>(index)]; }
  Node& at(const LayerPlace& place) const {
    return model_.blocks[static_cast<std::size_t>(place.block)]
        .nodes[static_cast<std::size_t>(place.node)];
  }
  const Parameters& trained(const LayerPlace& place) const {
    return trained_[static_cast<std::size_t>(place.block)][static_cast<std::size_t>(place.node)];
  }

  void read_parameters() {
    const std::vector<tensor::Shape> borders = border_shapes(model_);
    for (std::size_t b = 0; b < model_.blocks.size(); ++b) {
      const BlockSpec& here = model_.blocks[b];
      const std::vector<tensor::Shape> srcs = input_shapes(model_, borders, b);
      const std::vector<tensor::Shape> shapes = node_shapes(here, srcs);
      trained_.emplace_back();
      for (const Node& node : here.nodes) {
        const tensor::Shape src = node_inputs(node, srcs, shapes, here.name).front();
        Parameters all = ops::parameters_of(node.layer, src);
        std::erase_if(all, [](const ops::ParameterSpec& one) { return !one.trainable; });
        trained_.back().push_back(std::move(all));
      }
    }
  }

  std::vector<LayerPlace> trained_layers(int index) const {
    std::vector<LayerPlace> layers;
    for (int n = 0; n < static_cast<int>(block(index).nodes.size()); ++n) {
      if (!trained({index, n}).empty()) layers.push_back({index, n});
    }
    return layers;
  }

  [[noreturn]] void refuse_unknown(const Tie& tie, std::string_view wanted) const {
    std::vector<std::string> known;
    for (const auto& [name, place] : layers_) {
      if (place < LayerPlace{tie.block, std::max(0, tie.node)}) known.push_back(name);
    }
    for (const auto& [name, index] : blocks_) {
      if (index < tie.block) known.push_back(name);
    }
    std::ranges::sort(known);
    user_error("{}weights = '{}' is not {}{}", tie.where, shown(tie.name), wanted,
               did_you_mean(shown(tie.name), known));
  }

  /// A layer, or the only one with parameters of a block.
  LayerPlace find(const Tie& tie, const LayerPlace& user) const {
    const auto layer = layers_.find(tie.name);
    if (layer != layers_.end() && !(layer->second == user)) return layer->second;
    const auto named = blocks_.find(tie.name);
    if (named == blocks_.end() || named->second >= user.block) {
      refuse_unknown(tie, "an earlier block or layer");
    }
    const std::vector<LayerPlace> inside = trained_layers(named->second);
    if (inside.size() == 1) return inside.front();
    if (inside.empty()) {
      user_error("{}weights = '{}': no layer of that block has parameters", tie.where,
                 shown(tie.name));
    }
    std::vector<std::string> names;
    for (const LayerPlace& one : inside) names.push_back(full_name(block(one.block), at(one)));
    user_error("{}weights = '{}': several layers of that block have parameters; name one of {}",
               tie.where, shown(tie.name), fmt::join(names, ", "));
  }

  void tie_block(const Tie& tie) {
    const auto named = blocks_.find(tie.name);
    if (named == blocks_.end() || named->second >= tie.block) {
      refuse_unknown(tie, "an earlier block");
    }
    const std::vector<LayerPlace> users = trained_layers(tie.block);
    const std::vector<LayerPlace> owners = trained_layers(named->second);
    if (users.empty() || owners.size() != users.size()) {
      user_error("{}weights = '{}': {} layers of that block have parameters, and {} of this one",
                 tie.where, shown(tie.name), owners.size(), users.size());
    }
    for (std::size_t i = 0; i < users.size(); ++i) tie_layer(users[i], owners[i], tie);
  }

  void tie_layer(const LayerPlace& user, LayerPlace owner, const Tie& tie) {
    if (!(owner < user)) refuse_unknown(tie, "an earlier layer");
    if (!at(owner).weights.empty()) owner = layers_.at(at(owner).weights);
    const std::string name = full_name(block(owner.block), at(owner));
    if (trained(user).empty()) {
      user_error("{}weights = '{}': the layer has no parameters itself", tie.where,
                 shown(tie.name));
    }
    const std::string differs = difference(trained(owner), trained(user));
    if (!differs.empty()) {
      user_error("{}weights = '{}': layers '{}' and '{}' cannot share weights, they differ in {}",
                 tie.where, shown(tie.name), name, full_name(block(user.block), at(user)), differs);
    }
    if (!at(user).weights.empty() && at(user).weights != name) {
      user_error(
          "{}weights = '{}' contradicts layer '{}' of the block, which uses those of '{}'; leave "
          "one of them away",
          tie.where, shown(tie.name), at(user).name, at(user).weights);
    }
    at(user).weights = name;
  }

  ModelSpec& model_;
  std::unordered_map<std::string, int> blocks_;
  std::unordered_map<std::string, LayerPlace> layers_;
  std::vector<std::vector<Parameters>> trained_;  ///< by block and layer
};

}  // namespace

void tie_weights(ModelSpec& model, const std::vector<Tie>& ties) {
  if (ties.empty()) return;
  Tying tying(model);
  for (const Tie& tie : ties) tying.run(tie);
}

void check_tied(const ModelSpec& model, const std::string& where) {
  if (!has_tied_weights(model)) return;
  ModelSpec copy = model;
  Tying tying(copy);
  for (int b = 0; b < static_cast<int>(model.blocks.size()); ++b) {
    const BlockSpec& block = model.blocks[static_cast<std::size_t>(b)];
    for (int n = 0; n < static_cast<int>(block.nodes.size()); ++n) {
      const Node& node = block.nodes[static_cast<std::size_t>(n)];
      if (node.weights.empty()) continue;
      tying.check({b, n},
                  fmt::format("{}: block '{}', layer '{}': ", where, block.name, node.name));
    }
  }
}

}  // namespace plait::graph
