// Networks, costs and plans made for sums by hand: every number is given, nothing is measured.
#pragma once

#include <fmt/format.h>

#include "cost/cost_model.hpp"

namespace plait {

/// Seconds that do not depend on the samples. Sums take bytes * arrays * sum_per_byte.
class FixedCost final : public CostModel {
 public:
  FixedCost(std::vector<BlockSeconds> blocks, double sum_per_byte = 0, double slower = 1)
      : blocks_(std::move(blocks)), sum_per_byte_(sum_per_byte), slower_(slower) {}

  BlockSeconds block(int block, std::int64_t) const override {
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
  std::vector<BlockSeconds> blocks_;
  double sum_per_byte_;
  double slower_;
};

/// A chain of blocks with 100 parameters and tensors of 10 elements.
inline Network chain_of(int blocks) {
  Network network{.name = "chain", .blocks = {}, .tensors = {10}, .input = {10}};
  for (int i = 0; i < blocks; ++i) {
    network.blocks.push_back(
        {.name = fmt::format("b{}", i), .src = i, .dst = i + 1, .parameters = 100});
    network.tensors.push_back(10);
  }
  return network;
}

/// A plan without tasks; minibatches of one sample, so a tensor is 40 bytes.
inline Plan empty_plan_of(int blocks, const Machine& machine) {
  Plan plan;
  plan.strategy = "by hand";
  plan.machine = machine;
  plan.network = chain_of(blocks);
  plan.batch = 1;
  plan.programs.resize(static_cast<std::size_t>(machine.workers()));
  return plan;
}

inline Task forward(int block, int offset = 0) {
  return {.when = {.offset = offset}, .what = Forward{.block = block}};
}
inline Task update(int block, int offset = 0) {
  return {.when = {.offset = offset}, .what = Update{.block = block}};
}
inline Task send(int tensor, int peer, int offset = 0) {
  return {.when = {.offset = offset}, .what = Send{{.value = {.index = tensor}, .peer = peer}}};
}
inline Task receive(int tensor, int peer, int offset = 0) {
  return {.when = {.offset = offset}, .what = Receive{{.value = {.index = tensor}, .peer = peer}}};
}
inline Task reduce(Move move, int bucket = 0, int group = 0) {
  return {.what = Reduce{.move = move, .group = group, .bucket = bucket}};
}

}  // namespace plait
