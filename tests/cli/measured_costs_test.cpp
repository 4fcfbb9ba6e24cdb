// Costs that plait measures by itself: plait plan without a profile, the cache they are kept in,
// and training runs that plan with them and must have equal bits all the same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/mpi_job.hpp"
#include "cli/process.hpp"

namespace plait::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Json = nlohmann::json;
namespace fs = std::filesystem;

const Words kSmall{"--model", "mlp:32", "--batch", "16", "--workers"};

class MeasuredCosts : public ::testing::Test {
 protected:
  fs::path path(const std::string& name) const { return folder_.path() / name; }

  Ended plan(const Words& words) const {
    return run_plait(folder_.path(), Words{"plan"} + kSmall + Words{"1,2"} + words);
  }
  Json plan_json(const Words& words) const {
    const Ended ended = plan(words + Words{"--json"});
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    return Json::parse(ended.out, nullptr, false);
  }
  static Words training(const Words& words) {
    return Words{"train"} + kSmall +
           Words{"2",    "--data",     "glyphs",    "--train-limit", "64",    "--test-limit",
                 "16",   "--epochs",   "2",         "--threads",     "1",     "--pin",
                 "none", "--strategy", "layerpipe", "--pipeline",    "async", "--microbatches",
                 "2",    "--json"} +
           words;
  }
  Ended train(const Words& words) const { return run_plait(folder_.path(), training(words)); }
  static std::string hash_of(const Ended& ended) {
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    const Json json = Json::parse(ended.out, nullptr, false);
    return json.is_object() ? json["weights_hash"].get<std::string>() : "";
  }
  /// The files of the cache.
  std::vector<fs::path> kept() const {
    std::vector<fs::path> files;
    std::error_code error;
    for (const auto& file : fs::directory_iterator(path(".cache") / "plait", error)) {
      if (file.path().extension() == ".json") files.push_back(file.path());
    }
    return files;
  }

  TempFolder folder_;
};

TEST_F(MeasuredCosts, ArePlansStandardAndComeFromTheCacheTheSecondTime) {
  const Words ask{"--cost", "auto", "--strategies", "serial,data_parallel"};
  const Ended first = plan(ask);
  ASSERT_EQ(first.exit_code, 0) << first.err;
  EXPECT_THAT(first.out, HasSubstr("costs: measured on this machine just now, "));
  EXPECT_THAT(first.err, HasSubstr("measuring mlp:32 on this machine"));
  ASSERT_EQ(kept().size(), 1U);
  const Ended second = plan(ask);
  EXPECT_THAT(second.out, HasSubstr("costs: measured on this machine 20"));
  EXPECT_THAT(second.out, HasSubstr(" (cached), "));
  EXPECT_EQ(second.out.substr(second.out.find("strategy")),
            first.out.substr(first.out.find("strategy")));
}

TEST_F(MeasuredCosts, AreMeasuredAgainWhenTheFileIsDamagedOrOfSomethingElse) {
  plan_json({"--cost", "measured", "--strategies", "serial"});
  ASSERT_EQ(kept().size(), 1U);
  const fs::path file = kept().front();
  const std::string good = read_text(file);
  Json other = Json::parse(good);
  other["machine"] = "another machine";
  for (const std::string& bad : {std::string("{"), std::string(), other.dump()}) {
    write_text(file, bad);
    const Json again = plan_json({"--cost", "measured", "--strategies", "serial"});
    EXPECT_THAT(again["costs"].get<std::string>(), HasSubstr("just now"));
    EXPECT_EQ(again["cost"], "measured");
  }
  EXPECT_THAT(plan_json({"--cost", "measured"})["costs"].get<std::string>(), HasSubstr("cached"));
  EXPECT_THAT(plan_json({"--cost", "again"})["costs"].get<std::string>(), HasSubstr("just now"));
}

TEST_F(MeasuredCosts, AreUsedWithoutACacheAndOneLineSaysSo) {
  write_text(path("file"), "");
  Process process =
      plait_process(folder_.path(), Words{"plan", "--cost", "measured", "--strategies", "serial"} +
                                        kSmall + Words{"1"});
  process.environment = {{"XDG_CACHE_HOME", path("file").string()}};
  const Ended ended = run(process);
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("measured on this machine just now"));
  EXPECT_THAT(ended.err, HasSubstr("the measured costs are not kept: "));
}

/// What a strategy adds to the network is measured as the rest is.
TEST_F(MeasuredCosts, OfCoarsePartsAreMeasuredToo) {
  const Words ask{"plan", "--model", "lenet",    "--batch",      "8",       "--workers",
                  "2",    "--cost",  "measured", "--strategies", "parareal"};
  const Ended ended = run_plait(folder_.path(), ask);
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  std::vector<std::string> measured;
  for (const fs::path& file : kept()) {
    const Json profile = Json::parse(read_text(file));
    for (const Json& block : profile["blocks"]) {
      const std::string name = block["name"];
      measured.push_back(name);
    }
  }
  for (const char* part : {".enter.conv", ".enter.bn", ".coarse.linear1", ".coarse.add"}) {
    EXPECT_THAT(measured, ::testing::Contains(::testing::EndsWith(part)));
  }
  EXPECT_EQ(run_plait(folder_.path(), ask + Words{"--json", "--show"}).out,
            run_plait(folder_.path(), ask + Words{"--json", "--show"}).out);
}

TEST_F(MeasuredCosts, OfEqualTrainingRunsGiveEqualBitsAndAResumedRunKeepsItsOwn) {
  const std::string whole = hash_of(train({"--cost", "auto", "--run-dir", "whole"}));
  ASSERT_TRUE(fs::exists(path("whole") / "costs.json"));
  EXPECT_EQ(hash_of(train({"--cost", "auto", "--run-dir", "again"})), whole);
  EXPECT_EQ(read_text(path("again") / "costs.json"), read_text(path("whole") / "costs.json"));
  hash_of(train({"--cost", "auto", "--run-dir", "half", "--epochs", "1"}));
  const std::string began_with = read_text(path("half") / "costs.json");
  fs::remove_all(path(".cache"));  // what would be measured now may be something else
  const Ended resumed = run_plait(
      folder_.path(), {"train", "--resume", "--run-dir", "half", "--epochs", "2", "--json"});
  EXPECT_EQ(hash_of(resumed), whole);
  EXPECT_EQ(read_text(path("half") / "costs.json"), began_with);
  EXPECT_THAT(kept(), IsEmpty());
}

TEST_F(MeasuredCosts, AreCountedByTrainWhereNothingCanBeKept) {
  write_text(path("file"), "");
  Process process =
      plait_process(folder_.path(), training({"--cost", "auto", "--run-dir", "none"}));
  process.environment = {{"XDG_CACHE_HOME", path("file").string()}};
  const Ended ended = run(process);
  EXPECT_THAT(ended.err, HasSubstr("costs are counted: measured ones cannot be kept"));
  EXPECT_EQ(hash_of(ended), hash_of(train({"--cost", "analytic", "--run-dir", "none"})));
}

TEST_F(MeasuredCosts, AreNotMeasuredByOneWorker) {
  const Ended ended = run_plait(
      folder_.path(), {"train", "--model", "mlp:32", "--data", "glyphs", "--train-limit", "64",
                       "--test-limit", "16", "--epochs", "1", "--cost", "auto", "--run-dir", "r"});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(kept(), IsEmpty());
  EXPECT_FALSE(fs::exists(path("r") / "costs.json"));
}

TEST_F(MeasuredCosts, UnderMpiAreThoseOfWorker0) {
  if (find_mpirun().empty()) GTEST_SKIP() << "there is no mpirun in PATH";
  const std::string threads = hash_of(train({"--cost", "auto", "--run-dir", "threads"}));
  Words words = training({"--cost", "auto", "--run-dir", "mpi"});
  words.erase(std::ranges::find(words, "--workers"), std::ranges::find(words, "--workers") + 2);
  const Ended job = run({.command = mpirun() + ranks(2, words), .directory = folder_.path()});
  EXPECT_EQ(hash_of(job), threads);
  EXPECT_EQ(read_text(path("mpi") / "costs.json"), read_text(path("threads") / "costs.json"));
}

TEST_F(MeasuredCosts, CountedOnesTakeTheRatesOfAnotherMachine) {
  const auto step = [&](const Words& words) -> double {
    return plan_json(Words{"--cost", "analytic", "--strategies", "serial"} +
                     words)["plans"][0]["step_seconds"];
  };
  const double usual = step({});
  EXPECT_LT(step({"--peak-gflops", "9600", "--memory-gbs", "1000"}), usual / 50);
  EXPECT_GT(step({"--peak-share", "0.001"}), usual);
  const Ended text = plan({"--cost", "analytic", "--peak-gflops", "200"});
  EXPECT_THAT(text.out, HasSubstr("costs: counted for 200 GFLOP/s x 0.6 and 10 GB/s per worker"));
}

TEST_F(MeasuredCosts, RefuseFlagsThatExcludeEachOther) {
  const auto refused = [&](const Words& words, const std::string& message) {
    for (const Ended& ended : {plan(words), train(words + Words{"--run-dir", "none"})}) {
      EXPECT_EQ(ended.exit_code, 2);
      EXPECT_THAT(plait_lines(ended.err), ElementsAre(HasSubstr(message))) << ended.err;
    }
  };
  refused({"--cost", "mesured"}, "--cost mesured is not known (did you mean 'measured'?)");
  refused({"--cost", "measured", "--peak-gflops", "200"},
          "--peak-gflops 200 is the speed of another machine; add --cost analytic");
  refused({"--cost", "analytic", "--memory-gbs", "0"}, "--memory-gbs 0 must be above 0");
  refused({"--cost", "analytic", "--peak-share", "2"}, "--peak-share 2 must be at most 1");
  refused({"--cost", "measured", "--profile", "p.json"}, "exclude each other");
  const Ended threads = plan({"--cost", "analytic", "--threads", "2"});
  EXPECT_EQ(threads.exit_code, 2);
  EXPECT_THAT(threads.err, HasSubstr("--threads 2 is for measured costs"));
}

}  // namespace
}  // namespace plait::cli
