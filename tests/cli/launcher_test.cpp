// How the program finds its place: tasks of a plain srun, and the processors it may use.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/process.hpp"

namespace plait::cli {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

const Words kTiny{"train", "--model",      "mlp:8", "--data",  "glyphs", "--train-limit",
                  "64",    "--test-limit", "16",    "--batch", "16",     "--epochs",
                  "1",     "--run-dir",    "none",  "--json",  "--quiet"};

class Launched : public ::testing::Test {
 protected:
  Ended train(const std::vector<std::pair<std::string, std::string>>& environment) const {
    Process process = plait_process(folder_.path(), kTiny);
    process.environment = environment;
    return run(process);
  }
  TempFolder folder_;
};

TEST_F(Launched, TasksOfAPlainSrunAreRefusedOnceAndToldWhatToDo) {
  const Ended first = train({{"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_PROCID", "0"}});
  EXPECT_EQ(first.exit_code, 2);
  EXPECT_EQ(first.out, "");
  EXPECT_EQ(std::ranges::count(first.err, '\n'), 1) << first.err;
  EXPECT_THAT(first.err, HasSubstr("plait: srun started 4 tasks that know nothing of each other; "
                                   "start them with srun --mpi=pmix"));
  const Ended other = train({{"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_PROCID", "3"}});
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_EQ(other.err, "");
}

TEST_F(Launched, OneTaskAndABatchScriptTrainAsAlways) {
  EXPECT_EQ(train({{"SLURM_STEP_NUM_TASKS", "1"}, {"SLURM_PROCID", "0"}}).exit_code, 0);
  EXPECT_EQ(train({{"SLURM_NTASKS", "4"}, {"SLURM_PROCID", "0"}}).exit_code, 0);
}

TEST_F(Launched, ThreadsAreNoMoreThanTheAffinityMaskAllows) {
  cpu_set_t all;
  sched_getaffinity(0, sizeof all, &all);
  if (CPU_COUNT(&all) < 2) GTEST_SKIP() << "this machine has one processor";
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu) {
    if (CPU_ISSET(cpu, &all)) CPU_SET(cpu, &one);
  }
  sched_setaffinity(0, sizeof one, &one);
  const Ended bound = train({});
  sched_setaffinity(0, sizeof all, &all);
  EXPECT_EQ(bound.exit_code, 0) << bound.err;
  EXPECT_EQ(Json::parse(bound.out, nullptr, false).value("threads", 0), 1) << bound.out;
  EXPECT_GT(Json::parse(train({}).out, nullptr, false).value("threads", 0), 1);
}

}  // namespace
}  // namespace plait::cli
