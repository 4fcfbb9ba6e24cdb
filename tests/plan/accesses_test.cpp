// What each kind of task reads and writes, spelled out as words.
#include "plan/accesses.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/hand_made.hpp"

namespace plait::plan {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

/// "read tensor 1", "write diff 0".
std::vector<std::string> words(const Task& task, const Traits& traits = {}) {
  Plan plan = hand_made::data_parallel();
  std::vector<std::string> list;
  for (const Access& access : accesses(plan, task, traits)) {
    list.push_back(std::string(access.writes ? "write " : "read ") +
                   std::string(name_of(access.value.role)) + " " +
                   std::to_string(access.value.index));
  }
  return list;
}

TEST(Accesses, OfForward) {
  EXPECT_THAT(
      words({.what = Forward{.block = 0}}),
      UnorderedElementsAre("read tensor 0", "read weights 0", "write tensor 1", "write saved 0"));
  EXPECT_THAT(words({.what = Forward{.block = 1}}),
              UnorderedElementsAre("read tensor 1", "write tensor 2", "write saved 1"));
  EXPECT_THAT(words({.what = Forward{.block = 2}}),
              UnorderedElementsAre("read tensor 2", "read weights 2", "read state 2",
                                   "write state 2", "write tensor 3", "write saved 2"));
}

TEST(Accesses, OfLaterMicrobatchesLeaveTheStateAlone) {
  EXPECT_THAT(
      words({.what = Forward{.block = 2, .moves_state = false}}),
      UnorderedElementsAre("read tensor 2", "read weights 2", "write tensor 3", "write saved 2"));
}

/// conv1 is read by pool and by fc, which reads bn too.
TEST(Accesses, OfATensorWithSeveralReaders) {
  Plan plan = hand_made::data_parallel();
  plan.network.blocks[3].srcs = {3, 1};
  plan.network.last_readers = last_readers(plan.network);
  EXPECT_THAT(plan.network.last_readers, ElementsAre(0, 3, 2, 3, -1));
  const auto backward = [&](int block) {
    std::vector<std::string> diffs;
    for (const Access& access : accesses(plan, {.what = BackwardData{.block = block}})) {
      if (access.value.role != Role::diff) continue;
      diffs.push_back((access.writes ? "write " : "read ") + std::to_string(access.value.index));
    }
    return diffs;
  };
  EXPECT_THAT(backward(3), ElementsAre("read 4", "write 3", "write 1"));
  EXPECT_THAT(backward(1), ElementsAre("read 2", "read 1", "write 1")) << "adds to what is there";
}

TEST(Accesses, OfTheEnds) {
  EXPECT_THAT(words({.what = Load{}}), ElementsAre("write tensor 0", "write targets 0"));
  EXPECT_THAT(words({.what = Loss{}}),
              ElementsAre("read tensor 4", "read targets 0", "write diff 4"));
}

TEST(Accesses, OfBackward) {
  EXPECT_THAT(words({.what = BackwardData{.block = 3}}),
              UnorderedElementsAre("read diff 4", "read saved 3", "read tensor 3", "read weights 3",
                                   "write diff 3", "write pending 3"));
  EXPECT_THAT(
      words({.what = BackwardWeights{.block = 3}}),
      UnorderedElementsAre("read diff 4", "read tensor 3", "read saved 3", "write gradient 3"));
  EXPECT_THAT(words({.what = BackwardData{.block = 1}}),
              UnorderedElementsAre("read diff 2", "read saved 1", "read tensor 1", "write diff 1",
                                   "write pending 1"));
}

TEST(Accesses, NobodyWaitsForTheGradientOfTheInput) {
  EXPECT_THAT(words({.what = BackwardData{.block = 0}}),
              UnorderedElementsAre("read diff 1", "read saved 0", "read tensor 0", "read weights 0",
                                   "write pending 0"));
}

TEST(Accesses, OfLaterMicrobatchesGoThroughAPartialGradient) {
  EXPECT_THAT(words({.what = BackwardData{.block = 3}}),
              UnorderedElementsAre("read diff 4", "read saved 3", "read tensor 3", "read weights 3",
                                   "write diff 3", "write pending 3"));
  EXPECT_THAT(words({.what = BackwardWeights{.block = 3, .adds = true}}),
              UnorderedElementsAre("read diff 4", "read tensor 3", "read saved 3",
                                   "write partial 3", "read gradient 3", "write gradient 3"));
}

TEST(Accesses, FollowTheTruthOfTheLayers) {
  Traits traits(4);
  traits[3] = {.data_reads_src = false,
               .data_reads_dst = true,
               .weights_read_src = false,
               .weights_read_pending = true};
  EXPECT_THAT(words({.what = BackwardData{.block = 3}}, traits),
              UnorderedElementsAre("read diff 4", "read saved 3", "read tensor 4", "read weights 3",
                                   "write diff 3", "write pending 3"));
  EXPECT_THAT(
      words({.what = BackwardWeights{.block = 3}}, traits),
      UnorderedElementsAre("read diff 4", "read pending 3", "read saved 3", "write gradient 3"));
}

TEST(Accesses, OfABlockWithoutParametersHaveNoGradient) {
  EXPECT_THAT(words({.what = BackwardWeights{.block = 1, .adds = true}}), IsEmpty());
  EXPECT_THAT(words({.what = Update{.block = 1}}), IsEmpty());
}

TEST(Accesses, OfUpdatesAndCommunication) {
  EXPECT_THAT(words({.what = Update{.block = 3}}),
              ElementsAre("read gradient 3", "read weights 3", "write weights 3"));
  EXPECT_THAT(words({.what = Clip{}}), IsEmpty());
  EXPECT_THAT(words({.what = Send{{.value = {.index = 2}, .peer = 1}}}),
              ElementsAre("read tensor 2"));
  EXPECT_THAT(words({.what = Receive{{.value = {.role = Role::diff, .index = 2}, .peer = 1}}}),
              ElementsAre("write diff 2"));
  EXPECT_THAT(words({.what = Send{{.value = {.role = Role::saved, .index = 2}, .peer = 1}}}),
              ElementsAre("read saved 2"));
  EXPECT_THAT(words({.what = Receive{{.value = {.role = Role::weights, .index = 2}, .peer = 1}}}),
              ElementsAre("write weights 2"));
  EXPECT_THAT(words({.what = Reduce{.move = Move::start, .group = 0, .bucket = 0}}),
              ElementsAre("read gradient 3", "read gradient 2"));
  EXPECT_THAT(words({.what = Reduce{.move = Move::sum, .group = 0, .bucket = 1}}),
              ElementsAre("read gradient 0", "write gradient 0"));
  EXPECT_THAT(words({.what = Reduce{.move = Move::finish, .group = 0, .bucket = 2}}),
              ElementsAre("write state 2"));
}

TEST(Accesses, OfAMinibatchCarryTheSamplesOfTheTask) {
  const Plan plan = hand_made::data_parallel();
  for (const Access& access :
       accesses(plan, {.what = Forward{.block = 2, .samples = part_of(1, 2)}})) {
    EXPECT_EQ(access.value.samples, is_permanent(access.value.role) ? Samples{} : part_of(1, 2));
  }
}

}  // namespace
}  // namespace plait::plan
