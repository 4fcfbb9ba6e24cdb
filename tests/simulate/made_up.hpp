// Networks, costs and plans made for sums by hand: every number is given, nothing is measured.
#pragma once

#include <fmt/format.h>

#include "cost/cost_model.hpp"

namespace plait::simulate {

/// Seconds that do not depend on the samples. Sums take bytes * arrays * sum_per_byte.
class FixedCost final : public cost::CostModel {
 public:
  FixedCost(std::vector<cost::BlockSeconds> blocks, double sum_per_byte = 0, double slower = 1)
      : blocks_(std::move(blocks)), sum_per_byte_(sum_per_byte), slower_(slower) {}

  cost::BlockSeconds block(int block, std::int64_t) const override {
    return blocks_.at(static_cast<std::size_t>(block));
  }
  double loss(std::int64_t) const override { return 0; }
  double load(std::int64_t) const override { return 0; }
  double sum(std::int64_t bytes, int arrays) const override {
    return static_cast<double>(bytes) * arrays * sum_per_byte_;
  }
  double contention(int busy) const override { return busy > 1 ? slower_ : 1; }
  std::string source() const override { return "fixed"; }

 private:
  std::vector<cost::BlockSeconds> blocks_;
  double sum_per_byte_;
  double slower_;
};

/// A chain of blocks with 100 parameters and tensors of 10 elements.
inline plan::Network chain_of(int blocks) {
  plan::Network network{.name = "chain", .blocks = {}, .tensors = {10}, .input = {10}};
  for (int i = 0; i < blocks; ++i) {
    network.blocks.push_back(
        {.name = fmt::format("b{}", i), .srcs = {i}, .dst = i + 1, .parameters = 100});
    network.tensors.push_back(10);
  }
  return network;
}

/// A plan without tasks; minibatches of one sample, so a tensor is 40 bytes.
inline plan::Plan empty_plan_of(int blocks, const plan::Machine& machine) {
  plan::Plan plan;
  plan.strategy = "by hand";
  plan.machine = machine;
  plan.network = chain_of(blocks);
  plan.batch = 1;
  plan.programs.resize(static_cast<std::size_t>(machine.workers()));
  return plan;
}

inline plan::Task forward(int block, int offset = 0) {
  return {.when = {.offset = offset}, .what = plan::Forward{.block = block}};
}
inline plan::Task update(int block, int offset = 0) {
  return {.when = {.offset = offset}, .what = plan::Update{.block = block}};
}
inline plan::Task send(int tensor, int peer, int offset = 0) {
  return {.when = {.offset = offset},
          .what = plan::Send{{.value = {.index = tensor}, .peer = peer}}};
}
inline plan::Task receive(int tensor, int peer, int offset = 0) {
  return {.when = {.offset = offset},
          .what = plan::Receive{{.value = {.index = tensor}, .peer = peer}}};
}
inline plan::Task reduce(plan::Move move, int bucket = 0, int group = 0) {
  return {.what = plan::Reduce{.move = move, .group = group, .bucket = bucket}};
}

}  // namespace plait::simulate
