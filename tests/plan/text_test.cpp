// Plans as text and JSON, compared word for word.
#include "plan/text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sstream>

#include "plan/hand_made.hpp"
#include "plan/json.hpp"
#include "plan/memory.hpp"

namespace plait::plan {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Show, DataParallel) {
  Plan plan = hand_made::data_parallel(2, 4);
  plan.machine = {.nodes = 2,
                  .workers_per_node = 1,
                  .between = parse_link("1Gbit/s,100us", ""),
                  .memory_per_worker = 8'000'000'000};
  EXPECT_EQ(show(plan),
            R"(data: tiny on 2 workers
  machine    2 nodes with 1 worker each; between nodes 1Gbit/s,100us; 7.5 GiB per worker
  network    4 blocks, 256 B of parameters, 660 MAC per sample
  batch      8 samples
  group 0    workers 0-1
  bucket 0   gradient of fc .. bn (2 blocks), 192 B
  bucket 1   gradient of conv1, 64 B
  bucket 2   state of bn, 32 B

workers 0-1, each its half of the batch; about 4.0 KiB of memory each
  load
  forward of conv1 .. fc (4 blocks)
  loss
  backward_data, backward_weights of fc .. bn (2 blocks)
  reduce_start of bucket 0
  backward_data, backward_weights of pool .. conv1 (2 blocks)
  reduce_start of bucket 1
  reduce_start of bucket 2, every 4 steps (phase 3)
  reduce_sum of buckets 0 to 1
  reduce_sum of bucket 2, every 4 steps (phase 3)
  reduce_finish of buckets 0 to 1
  reduce_finish of bucket 2, every 4 steps (phase 3)
  clip
  update of conv1 .. fc (3 blocks)
)");
}

TEST(Show, AnAsynchronousPipeline) {
  EXPECT_EQ(show(hand_made::asynchronous_pipeline()),
            R"(async: tiny on 2 workers
  machine    1 node with 2 workers
  network    4 blocks, 256 B of parameters, 660 MAC per sample
  batch      8 samples
  depth      a minibatch takes 3 steps, one begins with every step
  staleness  2 for conv1, 0 for pool .. fc (3 blocks)

worker 0; about 16.2 KiB of memory
  load
  forward of conv1 .. pool (2 blocks), weights 2 updates old
  send of tensor 2 to worker 1
  receive of the gradient of tensor 2 from worker 1, offset 2
  backward_data, backward_weights of pool .. conv1 (2 blocks), offset 2, weights 2 updates old
  update of conv1, offset 2

worker 1; about 4.2 KiB of memory
  load, offset 1
  receive of tensor 2 from worker 0, offset 1
  forward of bn .. fc (2 blocks), offset 1
  loss, offset 1
  backward_data, backward_weights of fc .. bn (2 blocks), offset 1
  send of the gradient of tensor 2 to worker 0, offset 1
  update of bn .. fc (2 blocks), offset 1
)");
}

TEST(Show, MessagesOfBlocksStandAlone) {
  EXPECT_THAT(show(hand_made::lent_backward()), HasSubstr(R"(
  receive of tensor 2 from worker 0
  receive of what forward leaves of bn from worker 0
  receive of the gradient of tensor 3 from worker 0
  backward_data of bn
  send of the gradient of tensor 2 to worker 0
  send of what backward_data leaves of bn to worker 0
  receive of the weights of bn from worker 0
)"));
}

TEST(Show, DoesNotFoldReadersOfDifferentWeights) {
  Plan plan = hand_made::serial();
  for (const int block : {0, 3})
    std::get<Forward>(hand_made::task(plan, 0, TaskKind::forward, block).what).delay = 1;
  EXPECT_THAT(show(plan),
              AllOf(HasSubstr("\n  forward of conv1 .. pool (2 blocks), weights 1 update old\n"
                              "  forward of bn\n"
                              "  forward of fc, weights 1 update old\n"),
                    HasSubstr("  staleness  1 for conv1, 0 for pool .. bn (2 blocks), 1 for fc")));
}

TEST(Show, FoldsMicrobatches) {
  EXPECT_THAT(show(hand_made::serial(4)), HasSubstr(R"(  4 times, for parts 1 to 4 of 4:
    load
    forward of conv1 .. fc (4 blocks)
    loss
    backward_data, backward_weights of fc .. conv1 (4 blocks)
  update of conv1 .. fc (3 blocks)
)"));
}

TEST(Show, FoldsRoundsOfDifferentMicrobatches) {
  // 1F1B: forward of microbatch k + 1, then backward of k
  Plan plan = hand_made::empty_plan("rounds", 1);
  std::vector<Task>& tasks = plan.programs[0].tasks;
  for (int k = 0; k < 5; ++k) {
    tasks.push_back({.what = Forward{.block = 0, .samples = part_of(k + 1, 8)}});
    tasks.push_back({.what = BackwardData{.block = 0, .samples = part_of(k, 8)}});
  }
  tasks.push_back({.what = Load{.samples = {0, 8, 8}}});
  EXPECT_THAT(show(plan), HasSubstr("  5 times:\n"
                                    "    forward of conv1, parts 2 to 6 of 8\n"
                                    "    backward_data of conv1, parts 1 to 5 of 8\n"));
}

TEST(Show, FoldsAPartInTurn) {
  Plan plan = hand_made::empty_plan("turn", 1);
  for (int k = 3; k >= 0; --k) {
    plan.programs[0].tasks.push_back({.what = Load{.samples = part_of(k, 4)}});
  }
  EXPECT_THAT(show(plan), HasSubstr("\n  load, parts 4 to 1 of 4, in turn\n"));
  set_samples(plan.programs[0].tasks.back(), part_of(2, 4));
  EXPECT_THAT(show(plan), HasSubstr("\n  load, parts 3 to 1 of 3, in turn\n  load, part 2 of 3\n"));
}

TEST(Show, FoldsUpdatesThatFollowEachBlock) {
  Plan plan = hand_made::empty_plan("at_once", 1);
  hand_made::Writer write(plan.programs[0]);
  for (int block = 3; block >= 0; --block) {
    write.backward(plan.network, block, block).update(plan.network, block, block);
  }
  EXPECT_THAT(show(plan),
              HasSubstr("\n  backward_data, backward_weights, update of fc .. conv1 (4 blocks)\n"));
}

TEST(Show, WorkersThatDifferAreShownApart) {
  Plan plan = hand_made::data_parallel(4);
  EXPECT_THAT(show(plan), HasSubstr("workers 0-3, each its quarter of the batch"));
  hand_made::erase(plan, 1, TaskKind::clip);
  EXPECT_THAT(show(plan), AllOf(HasSubstr("\nworkers 0, 2-3, each its quarter of the batch"),
                                HasSubstr("\nworker 1, part 2 of 4 of the batch")));
}

/// As a replica that takes microbatches in turn has them.
TEST(Show, PartsBetweenWhichOneIsMissingKeepTheirNumbers) {
  Plan plan = hand_made::serial(4);
  std::erase_if(plan.programs[0].tasks, [](const Task& task) {
    return takes_samples(task) && samples_of(task).begin % 2 == 1;
  });
  EXPECT_THAT(show(plan), AllOf(HasSubstr("\nworker 0; about"), HasSubstr("part 1 of 4"),
                                HasSubstr("part 3 of 4"), Not(HasSubstr("of 3"))));
}

TEST(Show, BreaksLongLines) {
  Plan plan = hand_made::data_parallel();
  plan.machine = {.nodes = 1,
                  .workers_per_node = 2,
                  .inside = parse_link("98.76Gbit/s,2us", ""),
                  .memory_per_worker = 8'000'000'000};
  std::istringstream lines(show(plan, 50));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 50U) << line;
  EXPECT_THAT(show(plan, 50), HasSubstr("\n             98.76Gbit/s,2us;"));
}

TEST(Show, CountsManyGroups) {
  Plan plan = hand_made::data_parallel(4);
  plan.groups.resize(9, {0, 1});
  EXPECT_THAT(show(plan), AllOf(HasSubstr("  groups     9 of 2 to 4 workers\n"),
                                HasSubstr("reduce_start of bucket 0 over 4 workers"),
                                Not(HasSubstr("group 0"))));
}

TEST(Json, HasEverythingAScriptNeeds) {
  const Plan plan = hand_made::synchronous_pipeline();
  const auto json = nlohmann::json::parse(to_json(plan));
  EXPECT_EQ(json["strategy"], "pipeline");
  EXPECT_EQ(json["batch"], 8);
  EXPECT_EQ(json["microbatches"], 2);
  EXPECT_EQ(json["machine"]["workers_per_node"], 2);
  EXPECT_EQ(json["network"]["hash"], network_hash(plan.network));
  EXPECT_EQ(json["network"]["blocks"][2]["state"], 8);
  ASSERT_EQ(json["workers"].size(), 2U);
  EXPECT_EQ(json["workers"][1]["memory_bytes"], estimate_memory(plan, 1));
  ASSERT_EQ(json["workers"][0]["tasks"].size(), plan.programs[0].tasks.size());
  EXPECT_EQ(json["workers"][0]["tasks"][3],
            nlohmann::json::parse(
                R"({"kind":"send","role":"tensor","tensor":2,"peer":1,"samples":[0,1,2]})"));
  const auto lent = nlohmann::json::parse(to_json(hand_made::lent_backward()));
  EXPECT_EQ(lent["workers"][1]["tasks"].back(),
            nlohmann::json::parse(R"({"kind":"receive","role":"weights","block":2,"peer":0})"));
}

TEST(Json, ShowsOffsetsPhasesAndStaleness) {
  const auto late = nlohmann::json::parse(to_json(hand_made::asynchronous_pipeline()));
  EXPECT_EQ(late["depth"], 2);
  EXPECT_EQ(late["network"]["blocks"][0]["staleness"], 2);
  EXPECT_EQ(late["workers"][0]["tasks"].back()["offset"], 2);
  EXPECT_EQ(late["workers"][0]["tasks"][1],
            nlohmann::json::parse(R"({"kind":"forward","block":0,"delay":2})"));
  const auto rare = nlohmann::json::parse(to_json(hand_made::data_parallel(2, 4)));
  EXPECT_EQ(rare["buckets"][2]["payload"], "state");
  EXPECT_EQ(
      rare["workers"][0]["tasks"][15],
      nlohmann::json::parse(R"({"kind":"reduce_start","group":0,"bucket":2,"every":4,"phase":3})"));
}

}  // namespace
}  // namespace plait::plan
