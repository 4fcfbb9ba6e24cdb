// Chains that can be torn, with given costs, for the tests of parareal.
#pragma once

#include <gtest/gtest.h>

#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "cost/analytic.hpp"
#include "graph/parameters.hpp"
#include "strategy/parareal/torn_network.hpp"
#include "strategy/pipeline_testing.hpp"

namespace plait::strategy {

inline const std::string kDeep = "mlp:32-32-32-32-32-32";

/// Seconds per sample and block of the model as in TableCost; every C_j takes `enter`, every F_j
/// `coarse`, all of it in its first block; sums take no time.
class TornCost final : public cost::CostModel {
 public:
  TornCost(std::vector<cost::BlockSeconds> blocks, cost::BlockSeconds enter,
           cost::BlockSeconds coarse)
      : model_(std::move(blocks)), parts_(std::vector<cost::BlockSeconds>{enter, coarse}) {}

  cost::BlockSeconds block(int block, std::int64_t samples) const override {
    return model_.block(block, samples);
  }
  cost::BlockSeconds added(const plan::Network& network, int block,
                           std::int64_t samples) const override {
    const plan::NetworkBlock& one = network.blocks[static_cast<std::size_t>(block)];
    if (one.is_join() || !plan::begins_module(network, block)) return {};
    return parts_.block(one.name.find(".enter") == std::string::npos ? 1 : 0, samples);
  }
  double loss(std::int64_t samples) const override { return model_.loss(samples); }
  double load(std::int64_t samples) const override { return model_.load(samples); }
  double sum(std::int64_t, int) const override { return 0; }
  double contention(int) const override { return 1; }
  std::string source() const override { return "made up"; }

 private:
  TableCost model_;
  TableCost parts_;
};

inline double total(const cost::BlockSeconds& one) {
  return one.forward + one.backward_data + one.backward_weights + one.update;
}

/// Linear layers with ReLU: widths[0] is the input, and every other width two blocks of the model's
/// b1, b2, ...
inline plan::Network flat_network(const std::vector<std::int64_t>& widths) {
  graph::ModelSpec model{.name = "flat", .input = {widths.front()}, .blocks = {}};
  for (std::size_t i = 1; i < widths.size(); ++i) {
    graph::BlockSpec& block =
        model.blocks.emplace_back(graph::BlockSpec{.name = fmt::format("b{}", i), .nodes = {}});
    block.then("linear", ops::Linear{.out_features = widths[i]});
    block.then("relu", ops::Activation{});
  }
  return plan::make_network(model);
}

/// 16x16 images, then 6x6, then 8x8 twice.
inline plan::Network growing_network() {
  graph::ModelSpec model{.name = "growing", .input = {3, 16, 16}, .blocks = {}};
  const auto add = [&](const char* name, const ops::Convolution& conv) {
    model.blocks.emplace_back(graph::BlockSpec{.name = name, .nodes = {}}).then("conv", conv);
  };
  add("shrinks", {.out_channels = 8, .stride = {3, 3}, .padding = {1, 1}});
  add("grows", {.out_channels = 8, .kernel = {1, 1}, .padding = {1, 1}});
  add("stays", {.out_channels = 8, .padding = {1, 1}});
  graph::BlockSpec& head = model.blocks.emplace_back(graph::BlockSpec{.name = "head", .nodes = {}});
  head.then("flatten", ops::Flatten{});
  head.then("linear", ops::Linear{.out_features = 10});
  return plan::make_network(model);
}

/// Names of all weights of a network, as a checkpoint has them.
inline std::vector<std::string> weight_names(const plan::Network& network) {
  const std::vector<tensor::Shape> shapes = plan::tensor_shapes(network);
  std::vector<std::string> names;
  for (const plan::NetworkBlock& block : network.blocks) {
    if (block.weights_of >= 0) continue;
    for (int set = 0; set < block.state_sets; ++set) {
      for (const ops::ParameterSpec& parameter :
           graph::block_parameters(block.spec, plan::src_shapes(block, shapes))) {
        if (set > 0 && parameter.trainable) continue;
        names.push_back(plan::state_name(block.spec.name, set) + "." + parameter.name);
      }
    }
  }
  return names;
}

inline const std::vector<CoarseKind>& coarse_kinds() {
  static const std::vector<CoarseKind> kinds{CoarseKind::block, CoarseKind::conv,
                                             CoarseKind::identity};
  return kinds;
}

/// What tear() says, and the tearing in words where it has nothing to say.
inline std::string tear_refusal(const plan::Network& network, int pieces, CoarseKind kind) {
  const TornChain chain(network);
  try {
    tear(chain, *cost::make_analytic_cost(network), {.pieces = pieces, .coarse = kind});
  } catch (const UserError& error) {
    return error.what();
  }
  return "no UserError";
}

inline bool can_tear(const plan::Network& network, int pieces, CoarseKind kind) {
  return tear_refusal(network, pieces, kind) == "no UserError";
}

/// The last number behind `word` in a message; -1: none.
inline int last_number(const std::string& message, const std::string& word) {
  int number = -1;
  const std::regex pattern(word + " ([0-9]+)");
  for (auto it = std::sregex_iterator(message.begin(), message.end(), pattern);
       it != std::sregex_iterator(); ++it) {
    number = std::stoi((*it)[1]);
  }
  return number;
}

}  // namespace plait::strategy
