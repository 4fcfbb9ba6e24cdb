// The program under mpirun: the bits of threads, checkpoints from and for threads, one voice, and
// whatever is wrong said once.
#include <gmock/gmock.h>

#include "cli/mpi_job.hpp"
#include "run/plateau_rates.hpp"

namespace plait::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// metrics.jsonl without times.
std::vector<nlohmann::json> metrics_of(const std::filesystem::path& run_dir) {
  std::vector<nlohmann::json> lines;
  std::istringstream text(read_text(run_dir / "metrics.jsonl"));
  for (std::string line; std::getline(text, line);) {
    lines.push_back(nlohmann::json::parse(line, nullptr, false));
    lines.back().erase("seconds");
    lines.back().erase("images_per_second");
  }
  return lines;
}

TEST_F(MpiTest, GivesTheBitsOfThreads) {
  for (const int workers : {1, 2, 4}) {
    const std::string count = std::to_string(workers);
    const Json threads = on_threads({"--workers", count, "--epochs", "2", "--run-dir", "none"});
    const Json processes = on_mpi(workers, {"--epochs", "2", "--run-dir", "none"});
    for (const char* field :
         {"weights_hash", "bytes_sent", "messages_sent", "train_loss", "test_loss", "test_accuracy",
          "workers", "nodes", "threads", "steps", "epochs", "staleness_max"}) {
      EXPECT_EQ(processes[field], threads[field]) << field << " of " << count;
    }
    EXPECT_EQ(processes["workers"], workers);
    EXPECT_EQ(processes["steps"], 20);
    EXPECT_EQ(processes["shares"].size(), static_cast<std::size_t>(workers));
    EXPECT_EQ(processes["bytes_sent"] > 0, workers > 1);
  }
  EXPECT_EQ(entries_in(folder_.path()), 0U);
}

TEST_F(MpiTest, HalfNumbersOnTheWireAndMicrobatchesToo) {
  const Words odd{"--epochs", "1", "--run-dir", "none", "--wire", "bf16", "--microbatches", "2"};
  const Json threads = on_threads(odd + Words{"--workers", "3"});
  const Json processes = on_mpi(3, odd);
  EXPECT_EQ(processes["weights_hash"], threads["weights_hash"]);
  EXPECT_EQ(processes["bytes_sent"], threads["bytes_sent"]);
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST_F(MpiTest, OnlyTheFirstSpeaksAndAllAreInTheTrace) {
  const Ended ended = run(job(
      ranks(3, kParallel + Words{"--epochs", "2", "--run-dir", "run", "--no-json", "--no-quiet"})));
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_EQ(ended.out, "");
  for (const char* once : {"data_parallel, 3 workers of 1 thread(s)", "epoch 1/2  train loss ",
                           "epoch 2/2  train loss ", "done: 2 epoch(s), 20 step(s)"}) {
    EXPECT_EQ(count_of(ended.err, once), 1U) << once << " in " << ended.err;
  }
  const Json trace = Json::parse(read_text(path("run") / "trace.json"), nullptr, false);
  ASSERT_TRUE(trace.is_object());
  std::set<int> workers;
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] == "X") workers.insert(event["tid"].get<int>());
  }
  EXPECT_THAT(workers, ElementsAre(0, 1, 2));
}

TEST_F(MpiTest, OtherVerbsAreDoneOnce) {
  const Ended version = run(job(ranks(2, {"--version"})));
  EXPECT_EQ(version.exit_code, 0) << version.err;
  EXPECT_EQ(std::ranges::count(version.out, '\n'), 1) << version.out;
  EXPECT_THAT(version.out, ::testing::StartsWith("plait "));
}

TEST_F(MpiTest, GoesOnWithWhatThreadsWrote) {
  const Json whole = on_threads({"--workers", "4", "--epochs", "3", "--run-dir", "none"});
  on_threads({"--workers", "4", "--steps", "17", "--run-dir", "four"});
  copy("four", "two");
  const Words go_on{"train", "--resume", "--epochs", "3", "--steps", "0", "--json", "--quiet"};
  const Json four = result_of(run(job(ranks(4, go_on + Words{"--run-dir", "four"}))));
  EXPECT_EQ(four["weights_hash"], whole["weights_hash"]);
  EXPECT_EQ(four["steps"], 30);
  EXPECT_EQ(four["train_loss"], whole["train_loss"]);
  const Json two = result_of(run(job(ranks(2, go_on + Words{"--run-dir", "two"}))));
  EXPECT_EQ(two["workers"], 2);
  EXPECT_EQ(two["steps"], 30);
  EXPECT_NEAR(two["train_loss"], whole["train_loss"], 1e-4);
}

TEST_F(MpiTest, ThreadsGoOnWithWhatProcessesWrote) {
  const Json whole = on_mpi(4, {"--epochs", "3", "--run-dir", "none"});
  on_mpi(4, {"--steps", "17", "--run-dir", "run4"});
  for (const int workers : {1, 2, 3}) copy("run4", "run" + std::to_string(workers));
  for (const int workers : {1, 2, 3, 4}) {
    const std::string count = std::to_string(workers);
    const Json json = on_threads({"--workers", count, "--resume", "--epochs", "3", "--steps", "0",
                                  "--run-dir", "run" + count});
    EXPECT_EQ(json["workers"], workers);
    EXPECT_EQ(json["steps"], 30);
    EXPECT_NEAR(json["train_loss"], whole["train_loss"], 1e-4);
    EXPECT_EQ(json["weights_hash"] == whole["weights_hash"], workers == 4);
  }
}

TEST_F(MpiTest, GoesOnAtTheRateOfAPlateau) {
  const Words plateau{"--schedule", "plateau", "--plateau-patience", "0", "--plateau-factor", "0.5",
                      "--lr",       "0.5",     "--epochs",           "6"};
  const Json whole = on_threads(plateau + Words{"--workers", "2", "--run-dir", "whole"});
  std::vector<double> rates;
  for (const auto& epoch : metrics_of(path("whole"))) rates.push_back(epoch["learning_rate"]);
  const int epochs = run::epochs_that_tell(rates);
  ASSERT_GT(epochs, 0) << ::testing::PrintToString(rates);
  const std::string within_the_next = std::to_string(10 * epochs + 3);
  on_mpi(2, plateau + Words{"--steps", within_the_next, "--run-dir", "run"});
  const Json resumed = on_mpi(2, plateau + Words{"--resume", "--steps", "0", "--run-dir", "run"});
  EXPECT_EQ(resumed["weights_hash"], whole["weights_hash"]);
  EXPECT_EQ(metrics_of(path("run")), metrics_of(path("whole")));
}

TEST_F(MpiTest, SigtermOfMpirunKeepsACheckpoint) {
  Process process = job(ranks(2, kParallel + Words{"--epochs", "100000", "--run-dir", "run"}));
  process.signal = SIGTERM;
  process.signal_file = path("run") / "metrics.jsonl";
  process.signal_after_seconds = 0.4;
  const Ended ended = run(process);
  EXPECT_NE(ended.exit_code, 0);
  EXPECT_THAT(ended.err, HasSubstr("continue with: plait train --resume --run-dir run\n"));
  EXPECT_THAT(plait_lines(ended.err), ElementsAre());
  const Json json = Json::parse(ended.out, nullptr, false);
  ASSERT_TRUE(json.is_object()) << ended.out << ended.err;
  EXPECT_EQ(json["interrupted"], true);
  const std::string steps = std::to_string(json["steps"].get<int>() + 5);
  EXPECT_EQ(on_mpi(2, {"--resume", "--steps", steps, "--run-dir", "run"})["weights_hash"],
            on_threads({"--workers", "2", "--steps", steps, "--run-dir", "none"})["weights_hash"]);
}

/// The first process gets the signal, as from a batch system.
TEST_F(MpiTest, StoppedAndResumedTheMetricsAreThoseOfAWholeRun) {
  const Words torn{"--strategy", "parareal", "--pieces", "2", "--model", "mlp:32-32-32-32"};
  for (const Words& way : {Words{}, torn}) {
    const std::string name = way.empty() ? "data" : "parareal";
    // Parts with --resume would else measure, and a busy machine would split the depth elsewhere.
    const Words work =
        kParallel + way + Words{"--epochs", "3", "--checkpoint-every", "0", "--cost", "analytic"};
    const int count = way.empty() ? 3 : 2;
    result_of(run(job(ranks(count, work + Words{"--run-dir", name}))));
    const auto whole = metrics_of(path(name));
    ASSERT_EQ(whole.size(), 3U);
    int stopped = 0;
    for (int part = 0; part < 12; ++part) {
      const std::string cut = name + "-cut";
      Running running(job(ranks(count, work + Words{"--resume", "--run-dir", cut})));
      const SinceNow began;
      while (!running.has_ended() && began.seconds() < 0.6 + 0.02 * part) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      for (const RankProcess& one : ranks_of(running.pid())) {
        if (one.rank == 0) kill(one.process.pid, SIGTERM);
      }
      const Ended ended = running.wait(120);
      if (ended.exit_code == 0) break;
      if (ended.out.find("interrupted\":true") != std::string::npos) ++stopped;
    }
    result_of(run(job(ranks(count, work + Words{"--resume", "--run-dir", name + "-cut"}))));
    EXPECT_EQ(metrics_of(path(name + "-cut")), whole) << "stopped " << stopped << " times";
  }
}

class MpiRefusal : public MpiTest {
 protected:
  void expect_refused(const Words& words, const std::string& message) const {
    const Ended ended = run(job(words));
    EXPECT_FALSE(ended.timed_out);
    EXPECT_EQ(ended.exit_code, 2) << ended.err;
    EXPECT_EQ(ended.out, "");
    EXPECT_THAT(plait_lines(ended.err), ElementsAre(HasSubstr(message))) << ended.err;
  }
  const Words train_ = kParallel + Words{"--epochs", "1", "--run-dir", "none"};
};

TEST_F(MpiRefusal, SettingsThatDiffer) {
  expect_refused(ranks(1, train_ + Words{"--lr", "0.01"}) + Words{":"} +
                     ranks(1, train_ + Words{"--lr", "0.02"}),
                 "worker 1 on ");
  expect_refused(ranks(2, train_) + Words{":"} + ranks(1, train_ + Words{"--model", "mlp:33"}),
                 "worker 2 on ");
  expect_refused(ranks(1, train_) + Words{":"} + ranks(1, {"models"}), "verb");
  expect_refused(ranks(1, {"models"}) + Words{":"} + ranks(1, train_), "verb");
}

TEST_F(MpiRefusal, BadFlags) {
  const Words bad = train_ + Words{"--lrr", "1"};
  const std::string message = "unknown flag '--lrr' (did you mean '--lr'?)";
  expect_refused(ranks(3, bad), message);
  expect_refused(ranks(1, train_) + Words{":"} + ranks(1, bad), message);
  expect_refused(ranks(1, bad) + Words{":"} + ranks(1, train_), message);
  expect_refused(ranks(2, {"trian"}), "did you mean 'train'?");
}

TEST_F(MpiRefusal, MachinesThatAreNotThere) {
  expect_refused(ranks(2, train_ + Words{"--workers", "3"}),
                 "--workers 3 but mpirun started 2; omit --workers, or use mpirun -n 3");
  expect_refused(ranks(2, train_ + Words{"--nodes", "2"}), "--nodes 2 but MPI found 1 node(s)");
  expect_refused(ranks(2, train_ + Words{"--strategy", "serial"}), "serial is for one worker");
  expect_refused(ranks(2, train_ + Words{"--nodes", "0"}), "--nodes 0");
  expect_refused(ranks(2, train_ + Words{"--batch", "1"}), "more than the plan can use");
}

TEST_F(MpiRefusal, RunFoldersThatCannotBe) {
  on_threads({"--workers", "2", "--epochs", "1", "--run-dir", "used"});
  expect_refused(ranks(2, train_ + Words{"--run-dir", "used"}),
                 "used already holds a run; add --resume to continue it");
  expect_refused(ranks(2, {"train", "--resume", "--run-dir", "nowhere"}),
                 "there is no run in nowhere");
  expect_refused(ranks(2, train_ + Words{"--run-dir", "new", "--init", "none.safetensors"}),
                 "none.safetensors");
  EXPECT_FALSE(std::filesystem::exists(path("new")));
}

/// All of them find it in the same step.
TEST_F(MpiRefusal, NumbersThatAreNotFinite) {
  expect_refused(ranks(2, train_ + Words{"--lr", "1e30"}), "at step 2 on worker ");
  expect_refused(ranks(4, train_ + Words{"--lr", "1e30"}), "at step 2 on worker ");
}

TEST_F(MpiTest, ATraceThatCannotBeWrittenIsAWarningAndTheResultIsThere) {
  on_threads({"--workers", "2", "--epochs", "1", "--run-dir", "run", "--trace-steps", "0"});
  EXPECT_FALSE(std::filesystem::exists(path("run") / "trace.json"));
  std::filesystem::create_directory(path("run") / "trace.json");
  const Ended ended = run(job(ranks(2, kParallel + Words{"--resume", "--epochs", "2", "--run-dir",
                                                         "run", "--trace-steps", "10"})));
  EXPECT_FALSE(ended.timed_out);
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_EQ(Json::parse(ended.out, nullptr, false).value("epochs", 0), 2) << ended.out;
  EXPECT_THAT(plait_lines(ended.err),
              ElementsAre(HasSubstr("warning: cannot write 'run/trace.json'")))
      << ended.err;
}

}  // namespace
}  // namespace plait::cli
