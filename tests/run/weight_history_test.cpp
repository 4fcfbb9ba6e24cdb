// The versions that WeightHistory gives, beside a ring of exact changes kept by the test: the bits
// of each weight as a whole number, whose differences add up and back without loss.
#include "run/weight_history.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <deque>

#include "base/error.hpp"
#include "base/rng.hpp"
#include "graph/zoo.hpp"
#include "plan/hand_made.hpp"
#include "run/chain.hpp"

namespace plait::run {
namespace {

constexpr int kVersions = 3;  // of block 0 on worker 0

/// What each of the last updates changed.
class Ring {
 public:
  void add(std::span<const float> before, std::span<const float> after) {
    std::vector<std::uint32_t> change;
    for (std::size_t i = 0; i < after.size(); ++i) {
      change.push_back(std::bit_cast<std::uint32_t>(after[i]) -
                       std::bit_cast<std::uint32_t>(before[i]));
    }
    changes_.push_front(std::move(change));
  }
  /// The weights as they were `updates` ago.
  std::vector<float> back(std::span<const float> newest, int updates) const {
    std::vector<float> weights(newest.begin(), newest.end());
    for (int k = 0; k < updates; ++k) {
      for (std::size_t i = 0; i < weights.size(); ++i) {
        weights[i] = std::bit_cast<float>(std::bit_cast<std::uint32_t>(weights[i]) -
                                          changes_[static_cast<std::size_t>(k)][i]);
      }
    }
    return weights;
  }

 private:
  std::deque<std::vector<std::uint32_t>> changes_;
};

/// As many blocks as the hand-made plan has, all with weights.
graph::ModelSpec four_layers() {
  graph::ModelSpec model{.name = "four", .input = {64}, .blocks = {}};
  for (const char* name : {"a", "b", "c", "d"}) {
    model.blocks.emplace_back(graph::BlockSpec{.name = name, .nodes = {}})
        .then("linear", ops::Linear{.out_features = 8});
  }
  return model;
}

struct Versions {
  explicit Versions(plan::OldWeights how) : plan(plan::hand_made::asynchronous_pipeline()) {
    plan.old_weights = how;
    history.emplace(plan, 0, store);
    history->begin(0);
  }
  std::span<const float> newest() { return store.block(0).weights.floats(); }
  /// The next version is the newest one plus random numbers of that size.
  void update(float size) {
    const std::vector<float> before(newest().begin(), newest().end());
    const std::span<float> next = history->next(0);
    for (std::size_t i = 0; i < next.size(); ++i) next[i] = before[i] + size * rng.normal();
    history->made(0);
    ring.add(before, newest());
  }

  plan::Plan plan;
  const plan::Network network = plan::make_network(four_layers());
  const Chain chain{network, {.batch = 4}};
  ParameterStore store{chain, 1, 0};
  std::optional<WeightHistory> history{};
  Ring ring{};
  Rng rng{3, Purpose::test};
};

TEST(WeightHistory, AStashHasTheBitsOfARingOfExactChanges) {
  Versions versions(plan::OldWeights::stash);
  for (int minibatch = 0; minibatch < 8; ++minibatch) {
    for (int delay = 0; delay < std::min(kVersions, minibatch + 1); ++delay) {
      const std::vector<float> wanted = versions.ring.back(versions.newest(), delay);
      const float* const found = versions.history->read(0, minibatch, delay);
      EXPECT_EQ(std::vector<float>(found, found + wanted.size()), wanted)
          << "minibatch " << minibatch << ", delay " << delay;
    }
    versions.update(minibatch % 2 == 0 ? 1e-3F : 1e3F);  // a plain difference would round
  }
}

TEST(WeightHistory, WhatFillsAPipelineReadsTheFirstVersion) {
  Versions versions(plan::OldWeights::stash);
  const std::vector<float> first(versions.newest().begin(), versions.newest().end());
  versions.update(1);
  const float* const found = versions.history->read(0, 1, 2);
  EXPECT_EQ(std::vector<float>(found, found + first.size()), first);
}

TEST(WeightHistory, RebuiltWeightsOfEqualUpdatesAreTheOldOnes) {
  Versions versions(plan::OldWeights::rebuilt);
  const std::vector<float> first(versions.newest().begin(), versions.newest().end());
  for (int k = 0; k < 2; ++k) {
    const std::vector<float> before(versions.newest().begin(), versions.newest().end());
    const std::span<float> next = versions.history->next(0);
    for (std::size_t i = 0; i < next.size(); ++i) next[i] = before[i] + 0.5F;
    versions.history->made(0);
  }
  const float* const found = versions.history->read(0, 2, 2);
  for (std::size_t i = 0; i < first.size(); ++i) EXPECT_NEAR(found[i], first[i], 1e-6);
}

TEST(WeightHistory, NamesAVersionThatIsNotKept) {
  Versions versions(plan::OldWeights::stash);
  for (int k = 0; k < 5; ++k) versions.update(1);
  EXPECT_THROW(versions.history->read(0, 5, kVersions), Failure);
}

}  // namespace
}  // namespace plait::run
