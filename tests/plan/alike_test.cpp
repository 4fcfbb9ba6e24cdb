// Which workers count as alike, and that the forecast of memory may rely on it.
#include "plan/alike.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/hand_made.hpp"
#include "plan/memory.hpp"
#include "plan/worker_memory.hpp"

namespace plait::plan {
namespace {

using testing::ElementsAre;

/// Every worker has its part of the samples and a group of its own.
Plan replicas(int workers, std::int64_t batch) {
  Plan plan{.strategy = "test",
            .machine = {.nodes = 1, .workers_per_node = workers},
            .network = hand_made::network(),
            .batch = batch};
  plan.buckets = {{.blocks = {0}}, {.blocks = {2}}};
  for (int w = 0; w < workers; ++w) {
    plan.groups.push_back({w});
    const Samples samples = part_of(w, workers);
    plan.programs.push_back({.tasks = {{.what = Load{samples}},
                                       {.what = Forward{.block = 0, .samples = samples}},
                                       {.what = Reduce{.group = w, .bucket = 0}},
                                       {.what = Update{0}}}});
  }
  return plan;
}

TEST(Alike, WorkersWithOtherSamplesAndGroups) {
  EXPECT_THAT(first_alike(replicas(4, 8)), ElementsAre(0, 0, 0, 0));
}

TEST(Alike, NotWithMoreSamples) {
  EXPECT_THAT(first_alike(replicas(4, 6)), ElementsAre(0, 1, 0, 1));  // 1, 2, 1 and 2 samples
}

TEST(Alike, WorkersWithOtherPeers) {
  Plan plan = replicas(4, 8);
  for (int w = 0; w < 4; ++w) {
    const Message message{.value = {.role = Role::tensor, .index = 1, .samples = part_of(w / 2, 2)},
                          .peer = w ^ 1};
    std::vector<Task>& tasks = plan.programs[static_cast<std::size_t>(w)].tasks;
    tasks.clear();
    if (w % 2 == 0) tasks = {{.what = Send{message}}};
    if (w % 2 == 1) tasks = {{.what = Receive{.message = message}}};
  }
  EXPECT_THAT(first_alike(plan), ElementsAre(0, 1, 0, 1));
}

TEST(Alike, NotWhereATaskIsAnotherOne) {
  const auto with = [](const auto& change) {
    Plan plan = replicas(2, 8);
    change(plan.programs[1].tasks);
    return first_alike(plan);
  };
  using Tasks = std::vector<Task>;
  EXPECT_THAT(with([](Tasks&) {}), ElementsAre(0, 0));
  EXPECT_THAT(with([](Tasks& tasks) { tasks[0].when.offset = 1; }), ElementsAre(0, 1));
  EXPECT_THAT(with([](Tasks& tasks) { tasks[0].when.mode = 1; }), ElementsAre(0, 1));
  EXPECT_THAT(with([](Tasks& tasks) { std::get<Forward>(tasks[1].what).delay = 1; }),
              ElementsAre(0, 1));
  EXPECT_THAT(with([](Tasks& tasks) { std::get<Reduce>(tasks[2].what).bucket = 1; }),
              ElementsAre(0, 1));
  EXPECT_THAT(with([](Tasks& tasks) { std::get<Update>(tasks[3].what).block = 2; }),
              ElementsAre(0, 1));
  EXPECT_THAT(with([](Tasks& tasks) { tasks.pop_back(); }), ElementsAre(0, 1));
  // Other samples than the first task's, at another distance.
  EXPECT_THAT(with([](Tasks& tasks) { set_samples(tasks[1], {0, 1, 2}); }), ElementsAre(0, 1));
}

TEST(Alike, MemoryIsThatOfEveryWorkerByItself) {
  const Plan plan = replicas(6, 9);  // worker 0 has more to keep than those like it
  const std::vector<std::int64_t> memories = estimate_memories(plan);
  for (int worker = 0; worker < plan.workers(); ++worker) {
    EXPECT_EQ(memories[static_cast<std::size_t>(worker)], estimate_memory(plan, worker)) << worker;
  }
  EXPECT_NE(memories[1], memories[2]);
}

}  // namespace
}  // namespace plait::plan
