// A run that was stopped in the middle of an epoch and resumed has the metrics of one that was not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <fstream>
#include <thread>

#include "run/training.hpp"

namespace plait::run {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

struct Setting {
  std::string name;
  std::string strategy;
  int nodes = 1;
  int workers_per_node = 1;
  std::string pipeline = "sync";
  std::string model = "mlp:32-32-32-32";
  int microbatches = 1;
};

void PrintTo(const Setting& setting, std::ostream* out) { *out << setting.name; }

/// Asks for a stop as soon as a step is reported.
struct StopAfter : session::TrainObserver {
  explicit StopAfter(std::int64_t last) : step_(last) {}
  void step(const session::StepReport& report) override {
    if (report.step == step_) stop = true;
  }
  void note(const std::string& line) override { notes.push_back(line); }
  std::atomic<bool> stop = false;
  std::vector<std::string> notes;

 private:
  std::int64_t step_;
};

/// All but times; one JSON object per line.
std::vector<std::string> metrics_of(const fs::path& run_dir) {
  std::vector<std::string> lines;
  std::ifstream file(run_dir / "metrics.jsonl");
  for (std::string line; std::getline(file, line);) {
    auto json = nlohmann::ordered_json::parse(line);
    json.erase("seconds");
    json.erase("images_per_second");
    lines.push_back(json.dump());
  }
  return lines;
}

class ResumedMetrics : public TrainTest, public testing::WithParamInterface<Setting> {
 protected:
  session::TrainConfig config_of(const Setting& setting) const {
    session::TrainConfig config = small();
    config.model = setting.model;
    config.strategy = setting.strategy;
    config.nodes = setting.nodes;
    config.workers_per_node = setting.workers_per_node;
    config.workers = setting.nodes * setting.workers_per_node;
    config.pipeline = setting.pipeline;
    config.microbatches = setting.microbatches;
    config.threads = 1;
    config.lr = 0.02;
    if (setting.strategy == "parareal") {
      config.pieces = "2";
      config.replicas = setting.workers_per_node / 2;
    }
    return config;
  }
  /// Stopped after `step`, then to the end.
  session::TrainResult stop_and_resume(session::TrainConfig config, std::int64_t step) const {
    StopAfter observer(step);
    session::TrainJob job = job_of(config, observer);
    job.interrupt = &observer.stop;
    job.hook = [](int worker, const plan::Task& task, std::int64_t) {  // losses reach worker 0 late
      if (worker > 0 && plan::is<plan::Loss>(task)) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
      }
    };
    EXPECT_TRUE(session::train(job).interrupted);
    config.resume = true;
    return run(config);
  }
};

TEST_P(ResumedMetrics, AreThoseOfARunThatWasNotStopped) {
  session::TrainConfig config = config_of(GetParam());
  config.run_dir = (folder_ / "whole").string();
  const session::TrainResult whole = run(config);
  if (config.strategy.ends_with("-replicated")) {
    ASSERT_GT(std::ranges::max(sums_of(whole.plan)), 1) << "no replicas to see";
  }
  const std::vector<std::string> expected = metrics_of(config.run_dir);
  ASSERT_EQ(expected.size(), 3U);
  for (const int step : {3, 14, 26}) {
    SCOPED_TRACE(step);
    config.run_dir = (folder_ / std::to_string(step)).string();
    const session::TrainResult resumed = stop_and_resume(config, step);
    EXPECT_EQ(metrics_of(config.run_dir), expected);
    EXPECT_EQ(resumed.weights_hash, whole.weights_hash);
    EXPECT_EQ(resumed.train_loss, whole.train_loss);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Strategies, ResumedMetrics,
    testing::Values(
        Setting{.name = "serial", .strategy = "serial"},
        Setting{.name = "data_parallel_4", .strategy = "data_parallel", .workers_per_node = 4},
        Setting{.name = "layerpipe_sync", .strategy = "layerpipe", .workers_per_node = 2},
        Setting{.name = "layerpipe_async",
                .strategy = "layerpipe",
                .workers_per_node = 2,
                .pipeline = "async"},
        Setting{.name = "layerpipe_replicated_sync",
                .strategy = "layerpipe-replicated",
                .workers_per_node = 3,
                .model = "lenet",
                .microbatches = 4},
        Setting{.name = "layerpipe_replicated_async",
                .strategy = "layerpipe-replicated",
                .workers_per_node = 3,
                .pipeline = "async",
                .model = "lenet",
                .microbatches = 4},
        Setting{.name = "pipedream", .strategy = "pipedream", .workers_per_node = 2},
        Setting{.name = "parareal_2", .strategy = "parareal", .workers_per_node = 2},
        Setting{.name = "parareal_4", .strategy = "parareal", .workers_per_node = 4},
        Setting{.name = "daso", .strategy = "daso", .nodes = 2, .workers_per_node = 2},
        Setting{.name = "local_sgd", .strategy = "local_sgd", .nodes = 2},
        Setting{.name = "diloco", .strategy = "diloco", .nodes = 2}),
    [](const testing::TestParamInfo<Setting>& one) { return one.param.name; });

class Resumed : public ResumedMetrics {};

TEST_F(Resumed, ResidualsOfAnEpochCutBetweenOtherWorkersAreNearlyTheSame) {
  session::TrainConfig config =
      config_of({.name = "", .strategy = "parareal", .workers_per_node = 2});
  config.run_dir = (folder_ / "whole").string();
  const session::TrainResult whole = run(config);
  ASSERT_FALSE(whole.residuals.empty());
  config.run_dir = (folder_ / "cut").string();
  StopAfter observer(25);
  session::TrainJob job = job_of(config, observer);
  job.interrupt = &observer.stop;
  EXPECT_TRUE(session::train(job).interrupted);
  config.resume = true;
  config.workers = config.workers_per_node = 1;
  const session::TrainResult resumed = run(config);
  ASSERT_EQ(resumed.residuals.size(), whole.residuals.size());
  for (std::size_t i = 0; i < whole.residuals.size(); ++i) {
    EXPECT_NEAR(resumed.residuals[i].value, whole.residuals[i].value,
                1e-4 * whole.residuals[i].value);
  }
  const session::TrainResult nothing_left = run(config);
  ASSERT_EQ(nothing_left.residuals.size(), whole.residuals.size());
  EXPECT_EQ(nothing_left.residuals.front().value, resumed.residuals.front().value);
}

TEST_F(Resumed, DamagedLinesOfMetricsAreToldAndKept) {
  session::TrainConfig config = small();
  config.run_dir = (folder_ / "damaged").string();
  config.steps = 25;
  run(config);
  const fs::path file = fs::path(config.run_dir) / "metrics.jsonl";
  const auto expected = metrics_of(config.run_dir);
  std::ofstream(file, std::ios::app) << "{\"step\": \"x\"}\nnoise\n";
  config.resume = true;
  StopAfter observer(-1);
  session::train(job_of(config, observer));
  EXPECT_EQ(metrics_of(config.run_dir), expected);
  EXPECT_THAT(observer.notes,
              testing::Contains(AllOf(HasSubstr("damaged/metrics.jsonl: 2 lines are damaged"),
                                      HasSubstr("the first is line 3"), HasSubstr("kept as"))));
  std::ifstream kept(file.string() + ".damaged");
  std::string text{std::istreambuf_iterator<char>(kept), {}};
  EXPECT_THAT(text, testing::EndsWith("noise\n"));
}

}  // namespace
}  // namespace plait::run
