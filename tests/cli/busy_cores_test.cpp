// When a training run says that other programs take its cores. The decision is tested, not time.
#include "cli/busy_cores.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plait::cli {
namespace {

using ::testing::HasSubstr;

const BusySigns kTwoThreads{.step_seconds = 0.018,
                            .usual_seconds = 0.009,
                            .others = 1,
                            .cores = 2,
                            .workers = 1,
                            .threads = 2};

TEST(BusyCores, SlowStepsBesideABusyNeighbourAreExplained) {
  EXPECT_EQ(busy_note(kTwoThreads),
            "slow steps: 18.0 ms, not 9.0; other programs use 1.0 of 2 cores; try --threads 1");
}

TEST(BusyCores, AreNotMentionedWhereTheyExplainNothing) {
  BusySigns signs = kTwoThreads;
  signs.step_seconds = 0.01;  // as fast as usual
  EXPECT_EQ(busy_note(signs), "");
  signs = kTwoThreads;
  signs.others = 0.1;  // slow for another reason
  EXPECT_EQ(busy_note(signs), "");
  signs = kTwoThreads;
  signs.threads = 1;  // there is a core for each
  EXPECT_EQ(busy_note(signs), "");
}

TEST(BusyCores, WithoutAnythingToCompareTheNeighbourIsReasonEnough) {
  BusySigns signs = kTwoThreads;
  signs.usual_seconds = 0;
  EXPECT_EQ(busy_note(signs), "other programs use 1.0 of 2 cores; try --threads 1");
}

TEST(BusyCores, AdviseFewerThreadsOrWorkersAsFarAsThereAreCores) {
  BusySigns signs = kTwoThreads;
  signs.cores = 8;
  signs.workers = 2;
  signs.threads = 4;
  signs.others = 2;
  EXPECT_THAT(busy_note(signs), HasSubstr("try --threads 3"));
  signs.workers = 8;
  signs.threads = 1;
  EXPECT_THAT(busy_note(signs), HasSubstr("try --workers 6"));
}

TEST(BusyCores, ReadTheFirstLineOfProcStat) {
  EXPECT_EQ(busy_seconds("cpu  100 20 30 5000 7 0 1 0 0 0", 100), 1.5);
  EXPECT_EQ(busy_seconds("", 100), std::nullopt);
  EXPECT_EQ(busy_seconds("cpu0 1 2 3", 100), std::nullopt);
  EXPECT_EQ(busy_seconds("cpu x", 100), std::nullopt);
}

}  // namespace
}  // namespace plait::cli
