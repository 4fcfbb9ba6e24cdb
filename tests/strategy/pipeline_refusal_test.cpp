// What pipelines refuse: one line, with a value that works.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "strategy/pipeline_testing.hpp"

namespace plait::strategy {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::vector<std::string>& pipelines() {
  static const std::vector<std::string> names{
      "layerpipe", "layerpipe-replicated", "gpipe", "1f1b", "pipedream", "pipedream-replicated",
      "zb-h1",     "pipedream-2bw",        "zb-h2"};
  return names;
}

/// The last number behind `word` in a message; -1: none.
std::int64_t number_behind(const std::string& message, const std::string& word) {
  std::int64_t number = -1;
  const std::regex pattern(word + " ([0-9]+)");
  for (auto it = std::sregex_iterator(message.begin(), message.end(), pattern);
       it != std::sregex_iterator(); ++it) {
    number = std::stoll((*it)[1]);
  }
  return number;
}

/// The refusal, which is one line.
std::string one_line(const std::string& strategy, const PlanRequest& request) {
  const std::string message = refusal(strategy, request);
  EXPECT_THAT(message, AllOf(Not(HasSubstr("\n")), Not("no UserError"))) << strategy;
  return message;
}

TEST(PipelineRefusals, TooManyWorkersNamesHowManyWork) {
  Rng rng(21, Purpose::test);
  for (int round = 0; round < 12; ++round) {
    const MadeUp made = random_network(rng, 1 + round % 4, round % 2 == 0);
    const TableCost cost = made.cost();
    const int microbatches = 1 + static_cast<int>(rng.below(4));
    for (const std::string& strategy : pipelines()) {
      SCOPED_TRACE(fmt::format("round {} {}", round, strategy));
      const auto request = [&](const plan::Machine& machine) {
        return PlanRequest{.network = made.network,
                           .machine = machine,
                           .cost = &cost,
                           .batch = 2 * microbatches,
                           .microbatches = microbatches};
      };
      const plan::Machine many = one_node(60);
      const std::string message = one_line(strategy, request(many));
      EXPECT_THAT(message, HasSubstr("`workers` 60"));
      const auto most = static_cast<int>(number_behind(message, "use at most"));
      ASSERT_GE(most, 1);
      const plan::Machine fitting = one_node(most);
      // 2bw has a second word to say about few microbatches
      if (strategy != "pipedream-2bw") {
        EXPECT_NO_THROW(make_plan(strategy, request(fitting)));
      }
      if (strategy == "layerpipe-replicated") continue;  // replicas of others may go further
      const plan::Machine next = one_node(most + 1);
      EXPECT_THAT(one_line(strategy, request(next)), HasSubstr("use at most"));
    }
  }
}

TEST(PipelineRefusals, MicrobatchesNeedNotDivideTheBatchButNeedASampleEach) {
  const MadeUp made = even_network(8);
  const TableCost cost = made.cost();
  const plan::Machine machine = one_node(2);
  for (const std::string& strategy : pipelines()) {
    for (const std::int64_t batch : {1, 7, 12, 60, 64}) {
      for (int microbatches = 2; microbatches <= 70; microbatches += 3) {
        const PlanRequest request{.network = made.network,
                                  .machine = machine,
                                  .cost = &cost,
                                  .batch = batch,
                                  .microbatches = microbatches};
        if (microbatches <= batch) {
          EXPECT_EQ(refusal(strategy, request), "no UserError") << strategy;
          continue;
        }
        const std::string message = one_line(strategy, request);
        EXPECT_THAT(message, HasSubstr(fmt::format("`microbatches` {}", microbatches)));
        EXPECT_EQ(number_behind(message, "use at most"), batch) << message;
      }
    }
  }
}

TEST(PipelineRefusals, TooLittleMemoryNamesHowMuchWorks) {
  for (const bool asynchronous : {false, true}) {
    for (const int workers : {2, 3, 5}) {
      const plan::Network network = network_of("vgg11");
      plan::Machine machine = one_node(workers);
      machine.memory_per_worker = 1 << 20;
      const PlanRequest request{.network = network,
                                .machine = machine,
                                .batch = 64,
                                .microbatches = 8,
                                .pipeline = {.asynchronous = asynchronous}};
      const std::string message = one_line("layerpipe", request);
      EXPECT_THAT(message, HasSubstr("`memory_per_worker` 1 is too small"));
      const std::int64_t named = number_behind(message, "use `memory_per_worker`");
      ASSERT_GT(named, 1) << message;
      machine.memory_per_worker = named << 20;
      EXPECT_NO_THROW(make_plan("layerpipe", request)) << message;
      machine.memory_per_worker = (named - 1) << 20;
      EXPECT_THAT(one_line("layerpipe", request), HasSubstr(fmt::format("{}; use", named)));
    }
  }
}

TEST(PipelineRefusals, ClippingNeedsAllGradientsInOnePlace) {
  const MadeUp made = even_network(4);
  const TableCost cost = made.cost();
  for (const std::string& strategy : pipelines()) {
    const plan::Machine two = one_node(2);
    PlanRequest request{.network = made.network,
                        .machine = two,
                        .cost = &cost,
                        .batch = 8,
                        .microbatches = 4,
                        .clip = true};
    EXPECT_THAT(one_line(strategy, request), HasSubstr("`clip_norm`"));
    const plan::Machine one = one_node(1);
    EXPECT_THAT(one_line(strategy, {.network = made.network,
                                    .machine = one,
                                    .cost = &cost,
                                    .batch = 8,
                                    .microbatches = 4,
                                    .clip = true}),
                HasSubstr("or use serial"));
    request.clip = false;
    EXPECT_NO_THROW(make_plan(strategy, request)) << strategy;
  }
}

TEST(PipelineRefusals, TwoVersionsNeedEnoughMicrobatches) {
  for (int workers = 3; workers <= 8; ++workers) {
    for (const std::int64_t batch : {8, 24, 30, 64}) {
      const MadeUp made = even_network(workers);
      const TableCost cost = made.cost();
      const plan::Machine machine = one_node(workers);
      PlanRequest request{
          .network = made.network, .machine = machine, .cost = &cost, .batch = batch};
      const std::string message = one_line("pipedream-2bw", request);
      EXPECT_THAT(message, HasSubstr("`microbatches` 1 "));
      request.microbatches = static_cast<int>(number_behind(message, "use `microbatches`"));
      ASSERT_GT(request.microbatches, 1) << message;
      EXPECT_EQ(refusal("pipedream-2bw", request), "no UserError") << "after: " << message;
    }
  }
}

TEST(PipelineRefusals, TwoVersionsOfABatchSmallerThanTheWorkers) {
  const MadeUp made = even_network(8);
  const TableCost cost = made.cost();
  const plan::Machine machine = one_node(8);
  const PlanRequest request{.network = made.network, .machine = machine, .cost = &cost, .batch = 4};
  EXPECT_THAT(one_line("pipedream-2bw", request), HasSubstr("use at most 4 workers"));
}

}  // namespace
}  // namespace plait::strategy
