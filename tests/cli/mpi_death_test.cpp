// Sudden death and sudden silence of one process under mpirun: the others end soon, one line says
// who was doing what, nobody is left behind, and the last checkpoint is whole.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <optional>
#include <random>

#include "checkpoint/store.hpp"
#include "cli/mpi_job.hpp"

namespace plait::cli {
namespace {

using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Of `process`, once all `count` are there; none if it ends before.
std::vector<RankProcess> wait_for_ranks(Running& process, int count) {
  while (!process.has_ended()) {
    const std::vector<RankProcess> found = ranks_of(process.pid());
    const bool numbered = std::ranges::all_of(found, [](const auto& r) { return r.rank >= 0; });
    if (found.size() == static_cast<std::size_t>(count) && numbered) return found;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return {};
}

/// mpirun may end while the last one it has killed is still on its way out.
void expect_gone(const std::vector<RankProcess>& processes) {
  const SinceNow since;
  for (const RankProcess& one : processes) {
    while (still_there(one.process) && since.seconds() < 60) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    EXPECT_FALSE(still_there(one.process)) << "rank " << one.rank << " outlived the job";
  }
}

struct KillPlan {
  int ranks = 2;
  int kills = 5;
  unsigned seed = 0;
  bool ends_on_threads = false;  ///< where the killed runs are brought to their end
};

void PrintTo(const KillPlan& plan, std::ostream* out) {
  *out << fmt::format("{} ranks, {} kills", plan.ranks, plan.kills);
}

std::string name_of(const ::testing::TestParamInfo<KillPlan>& info) {
  return fmt::format("{}Ranks{}Seed", info.param.ranks, info.param.seed);
}

class MpiKill : public MpiTest, public ::testing::WithParamInterface<KillPlan> {
 protected:
  static constexpr std::int64_t kSteps = 400;
  const Words work_ =
      kParallel + Words{"--steps", std::to_string(kSteps), "--checkpoint-every", "7"};

  std::int64_t saved_step(const std::string& run_dir) const {
    const auto latest = checkpoint::CheckpointStore(path(run_dir) / "checkpoints").latest();
    return latest ? latest->step : -1;
  }

  /// Runs in `run_dir` until a rank is killed at a random moment after its first checkpoint; checks
  /// all that is promised then. False if the job was done before.
  bool run_and_kill(const std::string& run_dir, std::mt19937& random) {
    const int count = GetParam().ranks;
    const std::int64_t before = saved_step(run_dir);
    Running running(job(ranks(count, work_ + Words{"--resume", "--run-dir", run_dir})));
    const std::vector<RankProcess> processes = wait_for_ranks(running, count);
    while (!running.has_ended() && saved_step(run_dir) == before) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 250'000));
    const std::size_t victim = random() % static_cast<unsigned>(count);
    if (running.has_ended()) return false;
    kill(processes[victim].process.pid, SIGKILL);
    const Ended ended = running.wait(300);
    if (saved_step(run_dir) == kSteps) return false;

    EXPECT_FALSE(ended.timed_out);
    EXPECT_NE(ended.exit_code, 0);
    EXPECT_EQ(ended.out, "");
    EXPECT_THAT(plait_lines(ended.err),
                ElementsAre(ContainsRegex(fmt::format(
                    "^plait: worker {} died .*(load|forward|loss|backward|reduce|update).* "
                    "\\(minibatch [0-9]+, step [0-9]+\\)$",
                    processes[victim].rank))))
        << ended.err;
    expect_gone(processes);
    const Ended eval = run_plait(folder_.path(), {"eval", "--run", run_dir, "--threads", "1"});
    EXPECT_EQ(eval.exit_code, 0) << eval.err;
    codes_.insert(ended.exit_code);
    return true;
  }

  std::set<int> codes_;
};

/// One run after the other is killed again and again until it comes to its end.
TEST_P(MpiKill, EndsTheJobAndKeepsTheBits) {
  const KillPlan plan = GetParam();
  const std::string workers = std::to_string(plan.ranks);
  const Words alone = work_ + Words{"--workers", workers};
  const Json whole = result_of(run_plait(folder_.path(), alone + Words{"--run-dir", "none"}));
  std::mt19937 random(plan.seed);
  int kills = 0;
  for (int folder = 0; kills < plan.kills && folder < 20; ++folder) {
    const std::string run_dir = fmt::format("run{}", folder);
    while (kills < plan.kills && run_and_kill(run_dir, random)) ++kills;
    if (::testing::Test::HasFailure()) return;
    const Words rest{"--resume", "--run-dir", run_dir};
    const Json json = result_of(plan.ends_on_threads ? run_plait(folder_.path(), alone + rest)
                                                     : run(job(ranks(plan.ranks, work_ + rest))));
    EXPECT_EQ(json["weights_hash"], whole["weights_hash"]);
    EXPECT_EQ(json["steps"], kSteps);
  }
  EXPECT_EQ(kills, plan.kills);
  for (const int code : codes_) RecordProperty(fmt::format("mpirun_exit_code_{}", code), "seen");
}

INSTANTIATE_TEST_SUITE_P(
    Random, MpiKill,
    ::testing::Values(KillPlan{.ranks = 2, .kills = 5, .seed = 1},
                      KillPlan{.ranks = 3, .kills = 5, .seed = 2},
                      KillPlan{.ranks = 4, .kills = 5, .seed = 3},
                      KillPlan{.ranks = 4, .kills = 5, .seed = 4, .ends_on_threads = true}),
    name_of);

class MpiStall : public MpiTest, public ::testing::WithParamInterface<int> {};

/// A process that is stopped is neither dead nor does it answer.
TEST_P(MpiStall, SaysWhatEveryWorkerWaitsForAndEnds) {
  Running running(job(ranks(2, kParallel + Words{"--epochs", "100000", "--run-dir", "none",
                                                 "--stall-seconds", "2", "--no-quiet"})));
  const std::vector<RankProcess> processes = wait_for_ranks(running, 2);
  while (!running.has_ended() && running.err().find("epoch ") == std::string::npos) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  ASSERT_FALSE(running.has_ended()) << running.err();
  for (const RankProcess& one : processes) {
    if (one.rank == GetParam()) kill(one.process.pid, SIGSTOP);
  }
  const Ended ended = running.wait(300);
  EXPECT_FALSE(ended.timed_out);
  EXPECT_EQ(ended.exit_code, 75) << ended.err;
  const Words lines = plait_lines(ended.err);
  ASSERT_EQ(lines.size(), 1U) << ended.err;
  // Ten times the patience where it was stopped while it evaluated.
  EXPECT_THAT(lines.front(), ContainsRegex("no progress for (2|20) s: worker 0 (waits|works|is) .*"
                                           "minibatch [0-9]+, step [0-9]+\\) for [0-9]+ s; "
                                           "worker 1 (waits|works|is) .*minibatch"));
  EXPECT_THAT(lines.front(), HasSubstr("--stall-seconds"));
  expect_gone(processes);
}

INSTANTIATE_TEST_SUITE_P(Rank, MpiStall, ::testing::Values(0, 1));

}  // namespace
}  // namespace plait::cli
