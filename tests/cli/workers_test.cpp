// plait train with several workers as threads: what its result says of them, slow links between
// pretended nodes, refusals, sudden death, silence.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <random>
#include <set>

#include "cli/process.hpp"

namespace plait::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Json = nlohmann::json;

/// 10 steps per epoch, the last one smaller.
const Words kSmall{"train",         "--model", "mlp:32",       "--data",    "glyphs",
                   "--train-limit", "600",     "--test-limit", "64",        "--strategy",
                   "data_parallel", "--batch", "64",           "--threads", "1",
                   "--pin",         "none",    "--json",       "--quiet"};

class Workers : public ::testing::Test {
 protected:
  Json train(const Words& words) const {
    const Ended ended = run_plait(folder_.path(), kSmall + words);
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    EXPECT_EQ(ended.err, "");
    EXPECT_EQ(std::ranges::count(ended.out, '\n'), 1);
    return Json::parse(ended.out, nullptr, false);
  }
  std::filesystem::path path(const std::string& name) const { return folder_.path() / name; }

  void expect_refused(const Words& words, const std::string& message) const {
    const Ended ended = run_plait(folder_.path(), kSmall + Words{"--run-dir", "run"} + words);
    EXPECT_EQ(ended.exit_code, 2) << ended.err;
    EXPECT_EQ(ended.out, "");
    EXPECT_EQ(std::ranges::count(ended.err, '\n'), 1) << ended.err;
    EXPECT_THAT(plait_lines(ended.err), ElementsAre(HasSubstr(message))) << ended.err;
    EXPECT_EQ(entries_in(folder_.path()), 0U) << "something was written";
  }

  TempFolder folder_;
};

TEST_F(Workers, AreInTheResult) {
  for (const int workers : {1, 2, 4}) {
    const Json json =
        train({"--workers", std::to_string(workers), "--epochs", "1", "--run-dir", "none"});
    EXPECT_EQ(json["strategy"], "data_parallel");
    EXPECT_EQ(json["workers"], workers);
    EXPECT_EQ(json["nodes"], 1);
    EXPECT_EQ(json["threads"], 1);
    EXPECT_EQ(json["steps"], 10);
    EXPECT_GT(json["step_seconds"], 0);
    EXPECT_LE(json["step_seconds"], json["seconds"]);
    ASSERT_EQ(json["shares"].size(), static_cast<std::size_t>(workers));
    double busy = 0;
    for (int worker = 0; worker < workers; ++worker) {
      const Json& share = json["shares"][static_cast<std::size_t>(worker)];
      EXPECT_EQ(share["worker"], worker);
      double sum = 0;
      for (const char* field : {"busy", "communication", "wait"}) {
        EXPECT_GE(share[field], 0) << field;
        sum += share[field].get<double>();
      }
      EXPECT_LE(sum, 1 + 1e-6);
      EXPECT_GT(share["busy"], 0);
      EXPECT_EQ(share["communication"] > 0, workers > 1);
      busy += share["busy"].get<double>() / workers;
    }
    EXPECT_NEAR(json["utilisation"], busy, 1e-9);
    EXPECT_EQ(json["bytes_sent"] > 0, workers > 1);
    EXPECT_EQ(json["messages_sent"] > 0, workers > 1);
  }
}

TEST_F(Workers, ZeroMeansAsManyAsThereAre) {
  const Json json = train({"--workers", "0", "--epochs", "1", "--run-dir", "none"});
  EXPECT_EQ(json["workers"], 1);
  EXPECT_EQ(json["weights_hash"],
            train({"--workers", "1", "--epochs", "1", "--run-dir", "none"})["weights_hash"]);
  const Json four =
      train({"--nodes", "2", "--workers-per-node", "2", "--epochs", "1", "--run-dir", "none"});
  EXPECT_EQ(four["workers"], 4);
  EXPECT_EQ(four["nodes"], 2);
}

TEST_F(Workers, OneOfThemIsSerial) {
  const Words epoch{"--epochs", "1", "--run-dir", "none"};
  EXPECT_EQ(train(epoch + Words{"--strategy", "serial"})["weights_hash"],
            train(epoch + Words{"--workers", "1"})["weights_hash"]);
}

TEST_F(Workers, BucketsChangeNoBits) {
  const Words epoch{"--workers", "3", "--epochs", "1", "--run-dir", "none"};
  const Json one = train(epoch);
  const Json many = train(epoch + Words{"--bucket-mb", "0.001"});
  EXPECT_EQ(many["weights_hash"], one["weights_hash"]);
  EXPECT_GT(many["messages_sent"], one["messages_sent"]);
}

TEST_F(Workers, AreAllInTheTrace) {
  train({"--nodes", "2", "--workers", "4", "--epochs", "2", "--trace-steps", "3", "--run-dir",
         "run"});
  const Json trace = Json::parse(read_text(path("run") / "trace.json"), nullptr, false);
  ASSERT_TRUE(trace.is_object());
  std::set<std::pair<int, int>> workers;  // node, worker
  std::set<int> steps;
  std::set<std::string> activities;
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] != "X") continue;
    workers.insert({event["pid"].get<int>(), event["tid"].get<int>()});
    activities.insert(event["cat"].get<std::string>());
    EXPECT_GE(event["dur"].get<double>(), 0);
    if (event["args"].contains("step")) steps.insert(event["args"]["step"].get<int>());
  }
  using Pair = std::pair<int, int>;
  EXPECT_THAT(workers, ElementsAre(Pair{0, 0}, Pair{0, 1}, Pair{1, 2}, Pair{1, 3}));
  EXPECT_TRUE(activities.contains("compute"));
  EXPECT_TRUE(activities.contains("communicate"));
  EXPECT_EQ(steps.size(), 3U) << "of 20 the last 3";
  train({"--workers", "2", "--epochs", "1", "--trace-steps", "0", "--run-dir", "without"});
  EXPECT_FALSE(std::filesystem::exists(path("without") / "trace.json"));
}

TEST_F(Workers, SlowLinksTakeTimeAndChangeNoBits) {
  const Words task{"--workers", "4", "--nodes", "2", "--epochs", "1", "--run-dir", "none"};
  const Json fast = train(task);
  const Json slow = train(task + Words{"--link-between-nodes", "20Mbit/s,1ms"});
  for (const char* field : {"weights_hash", "bytes_sent", "messages_sent", "nodes"}) {
    EXPECT_EQ(slow[field], fast[field]) << field;
  }
  // Each worker sends to three others, two of them on the other node; half goes each way.
  // The last messages of the last step may be for others than worker 0, whose clock this is.
  const double bytes = slow["bytes_sent"].get<double>() * 2 / 3 / 2 * 9 / 10;
  const double least = bytes * 8 / 20e6;
  const double playing = 600 / slow["images_per_second"].get<double>();
  EXPECT_GT(playing, least);
  EXPECT_GT(least, 0.5) << "the link must be what counts";
}

TEST_F(Workers, MachinesAndPlansThatCannotBe) {
  expect_refused({"--nodes", "0"}, "--nodes 0 is too small; it must be at least 1");
  expect_refused({"--workers", "-1"}, "--workers -1 is too small");
  expect_refused({"--workers", "3", "--nodes", "2"},
                 "--workers 3 cannot be shared evenly by --nodes 2; try --workers 2");
  expect_refused({"--workers", "5", "--nodes", "2", "--workers-per-node", "2"},
                 "--workers 5 is not --nodes 2 x --workers-per-node 2 = 4");
  expect_refused({"--workers", "99999999"}, "--workers 99999999 is too large");
  expect_refused({"--nodes", "1048576", "--workers-per-node", "1048576"}, "is too large");
  expect_refused({"--pin", "nonsense"}, "--pin nonsense is not known; there are: auto");
  expect_refused({"--wire", "fp8"}, "--wire fp8 is not known (did you mean 'fp32'?)");
  expect_refused({"--microbatches", "0"}, "--microbatches 0 is out of range");
  expect_refused({"--workers", "2", "--microbatches", "33"}, "more than the plan can use");
  expect_refused({"--strategy", "data_paralel"}, "did you mean 'data_parallel'?");
  expect_refused({"--strategy", "serial", "--workers", "2"}, "serial is for one worker");
  expect_refused({"--workers", "100"},
                 "--batch 64 has only 64 samples for 100 workers x 1 microbatches");
  expect_refused({"--bucket-mb", "0"}, "--bucket-mb 0 is out of range");
  expect_refused({"--stall-seconds", "-1"}, "--stall-seconds -1 is out of range");
  expect_refused({"--trace-steps", "-1"}, "--trace-steps -1 is out of range");
  for (const char* link :
       {"fast", "0Gbit/s", "1Gbit/s,-5us", "1Gbit", ",5us", "nanbit/s", "1e400bit/s"}) {
    expect_refused({"--workers", "2", "--nodes", "2", "--link-between-nodes", link},
                   fmt::format("--link-between-nodes: '{}' is", link));
  }
  expect_refused({"--workers", "2", "--link-between-nodes", "1Gbit/s"}, "add --nodes 2");
}

TEST_F(Workers, NumbersThatAreNotFiniteAreSaidOnce) {
  const Ended ended = run_plait(
      folder_.path(), kSmall + Words{"--workers", "4", "--lr", "1e30", "--run-dir", "none"});
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_EQ(ended.out, "");
  EXPECT_EQ(std::ranges::count(ended.err, '\n'), 1) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr(" at step 2 on worker "));
}

TEST_F(Workers, StallSaysOnceWhatEveryWorkerWaitsFor) {
  const Ended ended = run_plait(
      folder_.path(), kSmall + Words{"--workers", "2", "--nodes", "2", "--link-between-nodes",
                                     "10kbit/s", "--stall-seconds", "1", "--run-dir", "none"});
  EXPECT_EQ(ended.exit_code, 1);
  EXPECT_EQ(ended.out, "");
  EXPECT_EQ(std::ranges::count(ended.err, '\n'), 1) << ended.err;
  EXPECT_THAT(ended.err, ::testing::ContainsRegex(
                             "^plait: no progress for 1 s: worker 0 waits in reduce_.*minibatch 1, "
                             "step 1\\) for [0-9]+ s; worker 1 waits in reduce_.*--stall-seconds"));
}

TEST_F(Workers, SuspendedForLongIsNoStall) {
  Running running(
      plait_process(folder_.path(), kSmall + Words{"--workers", "2", "--epochs", "40",
                                                   "--stall-seconds", "1", "--run-dir", "run"}));
  const auto under_way = [&] { return std::filesystem::exists(path("run") / "metrics.jsonl"); };
  while (!under_way() && !running.has_ended()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  kill(running.pid(), SIGSTOP);
  std::this_thread::sleep_for(std::chrono::seconds(4));
  ASSERT_FALSE(running.has_ended()) << "too short to be suspended";
  kill(running.pid(), SIGCONT);
  EXPECT_EQ(running.wait().exit_code, 0) << running.err();
}

TEST_F(Workers, OtherNumbersOfThemGoOn) {
  const Json whole = train({"--workers", "4", "--epochs", "3", "--run-dir", "none"});
  train({"--workers", "4", "--steps", "17", "--run-dir", "run4"});
  for (const int workers : {1, 2, 3, 4}) {
    const std::string count = std::to_string(workers);
    if (workers < 4) {
      std::filesystem::copy(path("run4"), path("run" + count),
                            std::filesystem::copy_options::recursive);
    }
    // --threads as in the run: without it, another number of workers gets its own.
    const Ended ended = run_plait(
        folder_.path(), {"train", "--resume", "--run-dir", "run" + count, "--workers", count,
                         "--threads", "1", "--steps", "0", "--epochs", "3", "--json", "--quiet"});
    const Json json = Json::parse(ended.out, nullptr, false);
    ASSERT_TRUE(json.is_object()) << ended.err;
    EXPECT_EQ(json["workers"], workers);
    EXPECT_EQ(json["steps"], 30);
    EXPECT_NEAR(json["train_loss"], whole["train_loss"], 1e-4);
    EXPECT_EQ(json["weights_hash"] == whole["weights_hash"], workers == 4) << workers;
  }
}

TEST_F(Workers, PretendedNodesShareTheCoresOfThisMachine) {
  const auto threads_of = [&](const Words& machine) {
    return train(machine + Words{"--threads", "0", "--steps", "1", "--run-dir", "none"})["threads"];
  };
  EXPECT_EQ(threads_of({"--nodes", "2", "--workers-per-node", "1"}),
            threads_of({"--workers", "2"}));
}

TEST_F(Workers, AResumedRunKeepsItsThreads) {
  const Words unequal = kSmall + Words{"--workers", "2", "--threads", "3"};
  const auto threads_after = [&](const Words& words) {
    const Ended begun =
        run_plait(folder_.path(), unequal + Words{"--steps", "1", "--run-dir", "r"});
    EXPECT_EQ(begun.exit_code, 0) << begun.err;
    const Ended ended = run_plait(
        folder_.path(),
        Words{"train", "--resume", "--run-dir", "r", "--steps", "2", "--json", "--quiet"} + words);
    std::filesystem::remove_all(path("r"));
    const Json json = Json::parse(ended.out, nullptr, false);
    return json.is_object() ? json["threads"].get<int>() : -1;
  };
  EXPECT_EQ(threads_after({}), 3);
  EXPECT_EQ(threads_after({"--workers", "2"}), 3);
  EXPECT_EQ(threads_after({"--nodes", "2", "--workers-per-node", "1"}), 3);
  EXPECT_EQ(threads_after({"--threads", "1"}), 1);
  EXPECT_NE(threads_after({"--workers", "4"}), 3) << "of two workers, not of four";
}

TEST_F(Workers, SurviveSuddenDeathAtTenRandomMoments) {
  const Words task = kSmall + Words{"--workers", "2", "--steps", "300", "--checkpoint-every", "7"};
  const Ended whole = run_plait(folder_.path(), task + Words{"--run-dir", "whole"});
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
  const Json wanted = Json::parse(whole.out, nullptr, false)["weights_hash"];
  std::mt19937 random(20210405);
  double window = whole.seconds * 0.7;  // shrinks when the machine becomes quicker
  std::uniform_real_distribution<double> share(0, 1);
  int kills = 0;
  for (int folder = 0; kills < 10 && folder < 40; ++folder) {
    const Words words = task + Words{"--resume", "--run-dir", fmt::format("run{}", folder)};
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

}  // namespace
}  // namespace plait::cli
