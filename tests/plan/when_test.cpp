// When a task runs: offsets, ranges, phases, modes and ends, against plain lists and plain loops.
#include "plan/when.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace plait::plan {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// The steps of the loop, far beyond both ends of the range, at which a task runs.
std::vector<std::int64_t> steps(const When& when, const MinibatchRange& range) {
  std::vector<std::int64_t> list;
  for (std::int64_t step = 0; step < range.last + 20; ++step) {
    if (runs(when, step, range)) list.push_back(step);
  }
  return list;
}

TEST(When, EveryStepOfTheRange) {
  EXPECT_THAT(steps({}, {.first = 0, .last = 3}), ElementsAre(0, 1, 2));
  EXPECT_THAT(steps({}, {.first = 5, .last = 8}), ElementsAre(5, 6, 7));
  EXPECT_THAT(steps({}, {.first = 5, .last = 5}), IsEmpty());
}

/// What is late goes on when others rest already: the loop runs empty.
TEST(When, AnOffsetDrainsBehindTheRange) {
  EXPECT_THAT(steps({.offset = 2}, {.first = 0, .last = 3}), ElementsAre(2, 3, 4));
  EXPECT_THAT(steps({.offset = 2}, {.first = 5, .last = 7}), ElementsAre(7, 8));
  EXPECT_EQ((When{.offset = 2}).minibatch_at(7), 5);
}

/// Phases count steps of the whole run, so a range that begins elsewhere changes nothing.
TEST(When, EveryAndPhaseCountStepsOfTheRun) {
  const When third{.every = 3, .phase = 2};
  EXPECT_THAT(steps(third, {.first = 0, .last = 9}), ElementsAre(2, 5, 8));
  EXPECT_THAT(steps(third, {.first = 4, .last = 9}), ElementsAre(5, 8));
  const When late{.offset = 2, .every = 3, .phase = 1};
  EXPECT_THAT(steps(late, {.first = 0, .last = 7}), ElementsAre(4, 7));
  EXPECT_THAT(steps(late, {.first = 0, .last = 3}), ElementsAre(4));
  EXPECT_THAT(steps(late, {.first = 0, .last = 2}), IsEmpty());
}

TEST(When, ModesHaveTheirRanges) {
  const When second{.mode = 1};
  EXPECT_THAT(steps(second, {.first = 0, .last = 2, .mode = 0}), IsEmpty());
  EXPECT_THAT(steps(second, {.first = 0, .last = 2, .mode = 1}), ElementsAre(0, 1));
  EXPECT_THAT(steps({}, {.first = 0, .last = 2, .mode = 7}), ElementsAre(0, 1));
  EXPECT_TRUE(runs_in({}, 3));
  EXPECT_TRUE(runs_in(second, 1));
  EXPECT_FALSE(runs_in(second, 0));
}

TEST(When, AtTheEndOnly) {
  const When end{.at_end = true};
  EXPECT_THAT(steps(end, {.first = 0, .last = 4}), ElementsAre(3));
  EXPECT_THAT(steps(end, {.first = 4, .last = 6}), ElementsAre(5));
  EXPECT_THAT(steps(end, {.first = 4, .last = 4}), IsEmpty());
  EXPECT_THAT(steps({.offset = 3, .at_end = true}, {.first = 0, .last = 4}), ElementsAre(6));
  EXPECT_THAT(steps({.mode = 1, .at_end = true}, {.first = 0, .last = 4}), IsEmpty());
}

/// Both are asked: the last minibatch of a range, and only where it is one of the task's.
TEST(When, AtTheEndAndEvery) {
  const When when{.every = 3, .phase = 2, .at_end = true};
  EXPECT_THAT(steps(when, {.first = 0, .last = 6}), ElementsAre(5));
  EXPECT_THAT(steps(when, {.first = 0, .last = 7}), IsEmpty());
}

TEST(When, ALookAtTheMiddleHasNoEnd) {
  const MinibatchRange middle{.first = 0, .last = 4, .ends = false};
  EXPECT_THAT(steps({.at_end = true}, middle), IsEmpty());
  EXPECT_THAT(steps({.offset = 1}, middle), ElementsAre(1, 2, 3, 4));
}

/// Every minibatch of every range of the first steps, one by one.
bool runs_whenever_by_hand(const When& a, const When& b, int mode) {
  for (std::int64_t last = 1; last <= 40; ++last) {
    const MinibatchRange range{.first = 0, .last = last, .mode = mode};
    for (std::int64_t m = 0; m < last; ++m) {
      if (runs(b, m + b.offset, range) && !runs(a, m + a.offset, range)) return false;
    }
  }
  return true;
}

TEST(When, RunsWheneverIsWhatPlayingShows) {
  std::vector<When> all;
  for (const int offset : {0, 1, 4}) {
    for (const int every : {1, 2, 3, 4}) {
      for (int phase = 0; phase < every; ++phase) {
        for (const int mode : {-1, 0, 1}) {
          for (const bool at_end : {false, true})
            all.push_back({offset, every, phase, mode, at_end});
        }
      }
    }
  }
  int yes = 0;
  for (const When& a : all) {
    for (const When& b : all) {
      for (const int mode : {0, 1}) {
        const bool by_hand = runs_whenever_by_hand(a, b, mode);
        yes += by_hand ? 1 : 0;
        ASSERT_EQ(runs_whenever(a, b, mode), by_hand)
            << a.offset << a.every << a.phase << a.mode << a.at_end << " " << b.offset << b.every
            << b.phase << b.mode << b.at_end << " mode " << mode;
      }
    }
  }
  EXPECT_GT(yes, 1000);
}

/// A plan from a file may ask for this: it must not take a million steps.
TEST(When, RunsWheneverOfLongPeriods) {
  const When rare{.offset = 1 << 20, .every = 1 << 20, .phase = 7};
  const When odd{.every = (1 << 20) - 1, .phase = 3};
  EXPECT_TRUE(runs_whenever({}, rare, 0));
  EXPECT_FALSE(runs_whenever(rare, {}, 0));
  EXPECT_FALSE(runs_whenever(rare, odd, 0));
  EXPECT_FALSE(runs_whenever(odd, rare, 0));
  EXPECT_TRUE(runs_whenever({.every = 1 << 10, .phase = 7}, rare, 0));
}

}  // namespace
}  // namespace plait::plan
