// What goes wrong in a run: signals, sudden death, full disks, numbers that are not finite.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "checkpoint/safetensors.hpp"
#include "cli/interrupt.hpp"
#include "cli/whole_run.hpp"

namespace plait::cli {
namespace {

using ::testing::HasSubstr;
using RunFailure = WholeRun;

TEST_F(RunFailure, WeightsThatAreNotNumbersAreNamed) {
  train({"--epochs", "1", "--run-dir", "run", "--model", "linear"});
  run_plait(folder_.path(), {"export", "--run", "run", "--out", "w.safetensors"});
  std::vector<checkpoint::NamedTensor> weights =
      checkpoint::read_safetensors(path("w.safetensors")).tensors;
  weights.back().tensor.floats()[3] = std::nanf("");
  checkpoint::write_safetensors(path("bad.safetensors"), weights);
  const std::string reason =
      fmt::format("bad.safetensors: tensor '{}' holds nan (element 4 of ", weights.back().name);
  const Words init{"--model", "linear", "--init", "bad.safetensors"};
  const Ended ended = run_plait(folder_.path(), kSmall + init + Words{"--run-dir", "none"});
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_THAT(ended.err, HasSubstr(reason));
  const Ended eval = run_plait(folder_.path(), Words{"eval"} + init);
  EXPECT_EQ(eval.exit_code, 1);
  EXPECT_EQ(eval.out, "");
  EXPECT_THAT(eval.err, HasSubstr(reason));
}

TEST_F(RunFailure, AReaderThatHasSeenEnoughIsNoFailure) {
  const Ended ended =
      run({.command = {"/bin/bash", "-c",
                       std::string(PLAIT_BINARY) + " --man | true; exit ${PIPESTATUS[0]}"},
           .directory = folder_.path()});
  EXPECT_EQ(ended.err, "");
}

TEST_F(RunFailure, SignalsEndItWithACheckpointAndTheWayOn) {
  for (const int signal : {SIGTERM, SIGINT}) {
    const std::string dir = fmt::format("run{}", signal);
    Process process =
        plait_process(folder_.path(), kSmall + Words{"--epochs", "100000", "--run-dir", dir});
    process.signal = signal;
    process.signal_file = path(dir) / "metrics.jsonl";
    process.signal_after_seconds = 0.3;
    const Ended ended = run(process);
    EXPECT_EQ(ended.exit_code, 128 + signal) << ended.err;
    EXPECT_THAT(ended.err,
                HasSubstr("continue with: plait train --resume --run-dir " + dir + "\n"));
    const Json json = Json::parse(ended.out, nullptr, false);
    ASSERT_TRUE(json.is_object()) << ended.out;
    EXPECT_EQ(json["interrupted"], true);
    const std::string steps = std::to_string(json["steps"].get<int>() + 5);
    EXPECT_EQ(hash({"--steps", steps, "--resume", "--run-dir", dir}),
              hash({"--steps", steps, "--run-dir", "none"}));
  }
}

TEST(Interrupt, TheSecondSignalEndsAtOnce) {
  const pid_t child = fork();
  if (child == 0) {
    const InterruptGuard guard;
    raise(SIGINT);
    if (!guard.flag()->load() || guard.signal() != SIGINT) _exit(1);
    raise(SIGTERM);
    _exit(2);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status)) << WEXITSTATUS(status);
  EXPECT_EQ(WTERMSIG(status), SIGTERM);
}

TEST_F(RunFailure, SurvivesSuddenDeathAtTenRandomMoments) {
  const Words task{"--epochs", "5", "--checkpoint-every", "7"};
  const Ended whole = run_plait(folder_.path(), kSmall + task + Words{"--run-dir", "whole"});
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
  const std::string wanted = Json::parse(whole.out, nullptr, false)["weights_hash"];
  std::mt19937 random(20210813);
  // Of how long a run takes at the moment: the machine may become quicker or slower meanwhile.
  double window = whole.seconds * 0.7;
  std::uniform_real_distribution<double> share(0, 1);
  int kills = 0;
  for (int folder = 0; kills < 10 && folder < 40; ++folder) {
    const Words words =
        kSmall + task + Words{"--resume", "--run-dir", fmt::format("run{}", folder)};
    Ended ended;
    while (kills < 10) {
      Process process = plait_process(folder_.path(), words);
      process.signal = SIGKILL;
      process.signal_after_seconds = window * share(random);
      ended = run(process);
      if (ended.signal != SIGKILL) {
        window *= 0.7;
        break;
      }
      ++kills;
    }
    if (ended.signal == SIGKILL) ended = run_plait(folder_.path(), words);
    ASSERT_EQ(ended.exit_code, 0) << ended.err;
    EXPECT_EQ(Json::parse(ended.out, nullptr, false)["weights_hash"], wanted);
  }
  EXPECT_EQ(kills, 10);
}

TEST_F(RunFailure, StopsWhereNumbersAreNotFiniteAndKeepsTheLastGoodCheckpoint) {
  // 1 - 0.01 x 800 = -7: every step makes every weight so many times larger.
  const Ended ended =
      run_plait(folder_.path(), kSmall + Words{"--model", "linear", "--epochs", "2", "--run-dir",
                                               "run", "--momentum", "0", "--weight-decay", "800"});
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_EQ(ended.out, "");
  EXPECT_EQ(std::ranges::count(ended.err, '\n'), 1) << ended.err;
  EXPECT_THAT(ended.err, ::testing::ContainsRegex("loss is .* at step [0-9]+; block '"));
  EXPECT_THAT(ended.err, HasSubstr("the last good checkpoint is run/checkpoints/step-000000032"));
  const Ended eval = run_plait(folder_.path(), {"eval", "--run", "run"});
  EXPECT_EQ(eval.exit_code, 0) << eval.err;
}

TEST_F(RunFailure, AHugeLearningRateIsNamedWithBlockAndStep) {
  const Ended ended = run_plait(folder_.path(), kSmall + Words{"--epochs", "1", "--lr", "1e20"});
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_EQ(std::ranges::count(ended.err, '\n'), 1) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr(" at step "));
  EXPECT_THAT(ended.err, HasSubstr("block '"));
}

TEST_F(RunFailure, AFullDiskKeepsTheOldCheckpoint) {
  const std::string wanted = hash({"--epochs", "2", "--run-dir", "none"});
  train({"--epochs", "1", "--run-dir", "run"});
  const Words more = kSmall + Words{"--epochs", "2", "--run-dir", "run", "--resume"};
  Process process = plait_process(folder_.path(), more);
  process.file_size_limit = 16 << 10;
  const Ended full = run(process);
  EXPECT_EQ(full.exit_code, 2) << full.err;
  EXPECT_EQ(full.out, "");
  EXPECT_EQ(std::ranges::count(full.err, '\n'), 1) << full.err;
  EXPECT_THAT(full.err, ::testing::StartsWith("plait: "));
  EXPECT_EQ(run_plait(folder_.path(), {"eval", "--run", "run"}).exit_code, 0);
  EXPECT_EQ(hash({"--epochs", "2", "--run-dir", "run", "--resume"}), wanted);
}

TEST_F(RunFailure, AResultThatCannotBePrintedIsAFailure) {
  const Ended ended =
      run({.command = {"/bin/sh", "-c", std::string(PLAIT_BINARY) + " models > /dev/full"},
           .directory = folder_.path()});
  EXPECT_EQ(ended.exit_code, 1);
  EXPECT_EQ(ended.err, "plait: cannot write to stdout\n");
}

/// The training is done and its weights are kept: what else cannot be written is a warning.
TEST_F(RunFailure, FilesBesideTheResultThatCannotBeWrittenAreWarnings) {
  for (const char* file : {"trace.json", "report.json", "report.html"}) {
    const std::string run_dir = std::string("run-") + file;
    std::filesystem::create_directories(path(run_dir) / file / "in the way");
    const Ended ended = run_plait(
        folder_.path(), kSmall + Words{"--epochs", "1", "--resume", "--run-dir", run_dir});
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    EXPECT_EQ(Json::parse(ended.out, nullptr, false).value("epochs", 0), 1) << ended.out;
    EXPECT_THAT(ended.err, ::testing::StartsWith("plait: warning: "));
    EXPECT_THAT(ended.err, HasSubstr(run_dir + "/" + file));
    EXPECT_EQ(std::ranges::count(ended.err, '\n'), 1) << ended.err;
  }
  Process process = plait_process(
      folder_.path(),
      kSmall + Words{"--epochs", "1", "--run-dir", "none", "--schedule-picture", "last.svg"});
  process.file_size_limit = 1 << 10;
  const Ended ended = run(process);
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_EQ(Json::parse(ended.out, nullptr, false).value("epochs", 0), 1) << ended.out;
  EXPECT_THAT(ended.err, HasSubstr("plait: warning: cannot write 'last.svg'"));
}

/// A limit on the size of files must not kill the process before it can say so.
TEST_F(RunFailure, AFileSizeLimitIsAnErrorOfTheWrite) {
  const Ended ended = run({.command = {"/bin/sh", "-c",
                                       "ulimit -f 16; exec " + std::string(PLAIT_BINARY) +
                                           " train --model lenet --data glyphs --train-limit 64 "
                                           "--test-limit 16 --batch 16 --threads 1 --epochs 1 "
                                           "--quiet --run-dir limited"},
                           .directory = folder_.path()});
  EXPECT_EQ(ended.signal, 0);
  EXPECT_EQ(ended.exit_code, 2) << ended.err;
  EXPECT_THAT(ended.err, ::testing::StartsWith("plait: "));
}

}  // namespace
}  // namespace plait::cli
