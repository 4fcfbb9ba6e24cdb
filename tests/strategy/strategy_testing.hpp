// Small networks and readings of programs for the tests of strategies.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "graph/zoo.hpp"
#include "strategy/strategy.hpp"

namespace plait::strategy {

inline plan::Network network_of(const std::string& name) {
  const bool gray = name == "lenet" || name == "linear" || name.starts_with("mlp");
  return plan::make_network(
      graph::make_model(name, gray ? tensor::Shape{1, 28, 28} : tensor::Shape{3, 32, 32}, 10));
}

/// Four blocks: parameters 8, 0, 4, 4; block 0 and block 2 have running statistics.
inline plan::Network four_blocks() {
  plan::Network network{.name = "four", .blocks = {}, .tensors = {4, 4, 4, 4, 4}, .input = {4}};
  const std::int64_t parameters[] = {8, 0, 4, 4};
  const std::int64_t state[] = {2, 0, 2, 0};
  for (int i = 0; i < 4; ++i) {
    network.blocks.push_back({.name = fmt::format("b{}", i),
                              .srcs = {i},
                              .dst = i + 1,
                              .parameters = parameters[i],
                              .state = state[i],
                              .macs = 1});
  }
  return network;
}

/// "forward 0", "reduce_sum 2", "loss": the order of a program, to be compared.
inline std::vector<std::string> order_of(const plan::Program& program) {
  std::vector<std::string> words;
  for (const plan::Task& task : program.tasks) {
    std::string word(name_of(plan::kind_of(task)));
    if (const auto* reduce = std::get_if<plan::Reduce>(&task.what)) {
      word += fmt::format(" {}", reduce->bucket);
    } else if (plan::block_of(task) >= 0) {
      word += fmt::format(" {}", plan::block_of(task));
    }
    words.push_back(word);
  }
  return words;
}

inline std::string refusal(const std::string& strategy, const PlanRequest& request) {
  try {
    make_plan(strategy, request);
  } catch (const UserError& error) {
    return error.what();
  }
  return "no UserError";
}

}  // namespace plait::strategy
