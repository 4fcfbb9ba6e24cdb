// Plans as files: what plait plan writes is what plait train plays, equal settings make equal plans
// for every strategy, and a file that is no plan for this run is refused in one line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/mpi_job.hpp"
#include "cli/process.hpp"

namespace plait::cli {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

struct Case {
  std::string name;
  Words words;  ///< of plan and train alike
};

void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }

Words model_of(const Case& one) {
  const bool sparse = one.name == "sparse_rows";
  return {"--model", sparse ? "radixnet:64x3" : "mlp:32-32-32-32"};
}

class PlanFile : public ::testing::TestWithParam<Case> {
 protected:
  Ended plait(const Words& words) const { return run_plait(folder_.path(), words); }
  static Json result_of(const Ended& ended) {
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    return Json::parse(ended.out, nullptr, false);
  }
  void plan(const Words& more = {}) const {
    const Case& one = GetParam();
    const Ended ended = plait(Words{"plan", "--data-shape", "1x28x28", "--batch", "32", "--out",
                                    "plan.json", "--strategies", one.name} +
                              model_of(one) + one.words + more);
    ASSERT_EQ(ended.exit_code, 0) << ended.err;
    EXPECT_THAT(ended.err, HasSubstr("is in plan.json; to train with it: plait train --plan "));
  }
  static Words training(const Words& more) {
    return Words{"train", "--data", "glyphs",  "--train-limit", "160", "--test-limit",
                 "32",    "--json", "--quiet", "--epochs",      "2",   "--threads",
                 "1",     "--pin",  "none"} +
           model_of(GetParam()) + more;
  }
  Json direct(const Words& more) const {
    return result_of(plait(
        training(Words{"--batch", "32", "--strategy", GetParam().name} + GetParam().words + more)));
  }
  /// As plait reads it back.
  Json plan_in(const std::string& file) const {
    return result_of(plait(Words{"plan", "--plan", file, "--json", "--data-shape", "1x28x28"} +
                           model_of(GetParam())));
  }

  TempFolder folder_;
};

TEST_P(PlanFile, IsWhatTrainMakesWithTheSameSettings) {
  plan();
  direct({"--run-dir", "run"});
  EXPECT_EQ(plan_in("plan.json"), plan_in("run/plan.json"));
}

TEST_P(PlanFile, IsPlayedWithTheBitsOfADirectRun) {
  plan();
  const Json whole = direct({"--run-dir", "none"});
  const Json given = result_of(plait(training({"--plan", "plan.json", "--run-dir", "given"})));
  EXPECT_EQ(given["strategy"], whole["strategy"]);
  EXPECT_EQ(given["workers"], whole["workers"]);
  EXPECT_EQ(given["weights_hash"], whole["weights_hash"]);
  // Resumed after an epoch, with the plan of its folder: the file may be gone.
  const Ended part = plait(training({"--plan", "plan.json", "--run-dir", "part", "--steps", "5"}));
  ASSERT_EQ(part.exit_code, 0) << part.err;
  std::filesystem::remove(folder_.path() / "plan.json");
  const Ended rest =
      plait({"train", "--resume", "--run-dir", "part", "--steps", "0", "--json", "--quiet"});
  EXPECT_EQ(result_of(rest)["weights_hash"], whole["weights_hash"]);
}

INSTANTIATE_TEST_SUITE_P(
    Strategies, PlanFile,
    testing::Values(Case{"serial", {"--workers", "1", "--microbatches", "2"}},
                    Case{"data_parallel", {"--workers", "2", "--wire", "bf16"}},
                    Case{"layerpipe", {"--workers", "2", "--microbatches", "4"}},
                    Case{"gpipe", {"--workers", "2", "--microbatches", "4"}},
                    Case{"1f1b", {"--workers", "2", "--microbatches", "4"}},
                    Case{"1f1b-interleaved", {"--workers", "2", "--microbatches", "4"}},
                    Case{"pipedream", {"--workers", "2"}},
                    Case{"pipedream-replicated", {"--workers", "3", "--microbatches", "2"}},
                    Case{"pipedream-2bw", {"--workers", "2", "--microbatches", "2"}},
                    Case{"zb-h1", {"--workers", "2", "--microbatches", "4"}},
                    Case{"zb-h2", {"--workers", "2", "--microbatches", "4"}},
                    Case{"zb-v", {"--workers", "2", "--microbatches", "4"}},
                    Case{"sparse_rows", {"--workers", "2"}},
                    Case{"parareal", {"--workers", "2", "--pieces", "2", "--sweeps", "2"}},
                    Case{"daso", {"--nodes", "2", "--workers", "2", "--exchange-every", "2"}},
                    Case{"local_sgd", {"--nodes", "2", "--workers", "2", "--local-steps", "2"}},
                    Case{"diloco",
                         {"--nodes", "2", "--workers", "2", "--outer-lr", "0.7", "--outer-momentum",
                          "0.3"}}),
    [](const auto& one) {
      std::string name = one.param.name;
      std::erase(name, '-');
      return name;
    });

class PlanFileRefusal : public PlanFile {
 protected:
  void expect_refused(const Words& words, const std::string& message) const {
    const Ended ended = plait(words);
    EXPECT_EQ(ended.exit_code, 2) << ended.err;
    EXPECT_THAT(plait_lines(ended.err), ::testing::ElementsAre(HasSubstr(message))) << ended.err;
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_.path() / name, std::ios::binary) << text;
  }
};

TEST_P(PlanFileRefusal, OfOtherRunsAndDamagedFiles) {
  plan();
  const auto refused = [&](const Words& more, const std::string& message) {
    expect_refused(training(Words{"--plan", "plan.json", "--run-dir", "none"} + more), message);
  };
  refused({"--model", "mlp:32-32"}, "plan.json: ");
  refused({"--microbatches", "2"}, "--microbatches 2 is not what the plan in plan.json was made");
  refused({"--workers", "3"}, "the plan in plan.json is for 1 node(s) x 2 worker(s)");
  refused({"--optimizer", "adam"}, "was made for another optimizer than adam");
  refused({"--clip-norm", "1"}, "was made without --clip-norm");
  refused({"--plan", "none.json"}, "none.json: there is no such file");
  expect_refused({"plan", "--plan", "plan.json", "--workers", "3"},
                 "--workers plans anew; with --plan there are: ");
  expect_refused({"plan", "--plan", "plan.json", "--trace", "t.json"}, "--trace plans anew");
  write("bad.json", "{\"plait_plan\": 1");
  refused({"--plan", "bad.json"}, "bad.json: no JSON at byte");
  write("old.json", "{\"plait_plan\": 0}");
  refused({"--plan", "old.json"}, "old.json: plait_plan is 0");
  write("foreign.json", "{\"model\": 1}");
  refused({"--plan", "foreign.json"}, "foreign.json: no plan of plait");
  std::ifstream stream(folder_.path() / "plan.json");
  Json json = Json::parse(stream);
  json["settings"]["local_steps"] = 0;
  write("settings.json", json.dump());
  refused({"--plan", "settings.json"}, "settings.json: --local-steps 0 is out of range");
  json["settings"] = {{"no_such", 1}};
  write("settings.json", json.dump());
  refused({"--plan", "settings.json"}, "settings.json: there is no setting 'no_such'");
  json.erase("settings");
  write("settings.json", json.dump());
  refused({"--plan", "settings.json"}, "settings.json: the plan does not say what it was made");
}

INSTANTIATE_TEST_SUITE_P(One, PlanFileRefusal,
                         testing::Values(Case{"layerpipe",
                                              {"--workers", "2", "--microbatches", "4"}}));

class PlanFileMpi : public MpiTest {};

/// Worker 0 plans; the plan of the run folder is that of threads.
TEST_F(PlanFileMpi, IsMadeByWorkerZeroAndSentToTheOthers) {
  const Words way{"--strategy", "layerpipe", "--microbatches", "4", "--epochs", "1"};
  const Json threads = on_threads(way + Words{"--workers", "2", "--run-dir", "threads"});
  const Json mpi = on_mpi(2, way + Words{"--run-dir", "mpi"});
  EXPECT_EQ(mpi["weights_hash"], threads["weights_hash"]);
  const Json given = on_mpi(2, {"--strategy", "serial", "--epochs", "1", "--plan",
                                "threads/plan.json", "--run-dir", "given"});
  EXPECT_EQ(given["weights_hash"], threads["weights_hash"]);
  EXPECT_EQ(given["strategy"], "layerpipe");
}

}  // namespace
}  // namespace plait::cli
