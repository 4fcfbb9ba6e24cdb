// Pipelines whose workers have several pieces each: the published order, bubbles, what is held.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simulate/simulate.hpp"
#include "strategy/pipeline/chunks.hpp"
#include "strategy/pipeline_testing.hpp"

namespace plait::strategy {
namespace {

using pipeline::Turn;
using testing::AllOf;
using testing::HasSubstr;

/// "F0.1" is forward of piece 0 for microbatch 1.
std::string text_of(const std::vector<Turn>& turns) {
  std::string text;
  for (const Turn& turn : turns) {
    text += fmt::format("{}{}{}.{}", text.empty() ? "" : " ", turn.backward ? "B" : "F", turn.piece,
                        turn.microbatch);
  }
  return text;
}

TEST(Interleaved, OrderIsThePublishedOne) {
  const auto turns = pipeline::interleaved_turns(2, 2, 4);
  EXPECT_EQ(text_of(turns[0]),
            "F0.0 F0.1 F2.0 F2.1 F0.2 B2.0 F0.3 B2.1 F2.2 B0.0 F2.3 B0.1 B2.2 B2.3 B0.2 B0.3");
  EXPECT_EQ(text_of(turns[1]),
            "F1.0 F1.1 F3.0 B3.0 F3.1 B3.1 F1.2 B1.0 F1.3 B1.1 F3.2 B3.2 F3.3 B3.3 B1.2 B1.3");
}

/// Whatever the numbers: everything once, and nobody waits for what comes behind it.
TEST(Interleaved, OrderIsCompleteForAnyNumbers) {
  for (int workers = 1; workers <= 5; ++workers) {
    for (int rounds = 1; rounds <= 4; ++rounds) {
      for (int microbatches = 1; microbatches <= 11; ++microbatches) {
        const auto turns = pipeline::interleaved_turns(workers, rounds, microbatches);
        for (int worker = 0; worker < workers; ++worker) {
          const auto& own = turns[static_cast<std::size_t>(worker)];
          EXPECT_EQ(std::set<Turn>(own.begin(), own.end()).size(), own.size());
          EXPECT_EQ(std::ssize(own), 2 * rounds * microbatches);
          for (const Turn& turn : own) EXPECT_EQ(turn.piece % workers, worker);
        }
      }
    }
  }
}

struct Simulated {
  plan::Plan plan;
  double bubble = 0;  ///< seconds of a step beyond each worker's own work
};

/// Of an even network with `blocks` for each of p workers; all of a worker's take 3 seconds.
Simulated simulate_even(const std::string& strategy, int p, int m, int blocks) {
  const MadeUp made = even_network(blocks * p, 1.0 / blocks);
  const TableCost cost = made.cost();
  const plan::Machine machine = one_node(p);
  plan::Plan plan = make_plan(
      strategy,
      {.network = made.network, .machine = machine, .cost = &cost, .batch = m, .microbatches = m});
  const double step = simulate::simulate(plan, cost).step_seconds;
  return {std::move(plan), step - 3 * m};
}

TEST(Interleaved, BubbleIsDividedByThePieces) {
  for (const int p : {2, 3, 4, 8}) {
    for (const int m : {p, 2 * p, 4 * p}) {
      EXPECT_LE(simulate_even("1f1b", p, m, 4).bubble, 3 * (p - 1) + 1e-9) << p << ", " << m;
      EXPECT_LE(simulate_even("1f1b-interleaved", p, m, 4).bubble, 3 * (p - 1) / 4.0 + 1e-9)
          << p << ", " << m;
    }
  }
}

/// The most blocks, each for a microbatch, whose forward has begun and backward has not ended.
int most_held(const plan::Plan& plan) {
  std::size_t most = 0;
  for (const plan::Program& program : plan.programs) {
    std::set<std::pair<int, int>> held;
    for (const plan::Task& task : program.tasks) {
      const auto unit = [&] {
        return std::pair(plan::block_of(task), plan::samples_of(task).begin);
      };
      if (plan::is<plan::Forward>(task)) held.insert(unit());
      most = std::max(most, held.size());
      if (plan::is<plan::BackwardWeights>(task)) held.erase(unit());
    }
  }
  return static_cast<int>(most);
}

TEST(ZbV, HasHardlyABubbleInTheMemoryOf1f1b) {
  for (const int p : {2, 3, 4, 8}) {
    for (const int m : {2 * p, 4 * p}) {
      const Simulated made = simulate_even("zb-v", p, m, 2);
      EXPECT_LE(made.bubble, simulate_even("zb-h1", p, m, 2).bubble / 2 + 1e-9) << p << ", " << m;
      EXPECT_LE(most_held(made.plan), 2 * p) << p << ", " << m;
    }
  }
}

TEST(ZbV, InputAndLossAreOnWorkerZero) {
  EXPECT_THAT(pipeline::there_and_back(3), testing::ElementsAre(0, 1, 2, 2, 1, 0));
  EXPECT_THAT(pipeline::dealt_in_rounds(3, 2), testing::ElementsAre(0, 1, 2, 0, 1, 2));
}

TEST(Chunks, NeedTwoPiecesForEveryWorker) {
  const plan::Machine three = one_node(3);
  const plan::Machine one = one_node(1);
  const plan::Network five = even_network(5).network;
  const plan::Network single = even_network(1).network;
  for (const char* strategy : {"1f1b-interleaved", "zb-v"}) {
    EXPECT_THAT(
        refusal(strategy, {.network = five, .machine = three, .batch = 4, .microbatches = 4}),
        AllOf(HasSubstr("`workers` 3"), HasSubstr("use at most 2 workers")));
    EXPECT_THAT(refusal(strategy, {.network = single, .machine = one}),
                HasSubstr("every worker has two pieces or more: use `strategy` 1f1b"));
  }
}

}  // namespace
}  // namespace plait::strategy
