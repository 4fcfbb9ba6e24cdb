// What plans foresee of a worker's memory beside what workers count of themselves, within a tenth.
#include "plan/worker_memory.hpp"
#include "run/training.hpp"

namespace plait::run {
namespace {

struct ForecastCase {
  std::string name;
  std::string model;
  std::string strategy;
  std::string pipeline = "sync";
  int nodes = 1;
  int workers = 2;
  int microbatches = 1;
  std::string weights = "stash";
};

int config_threads(const session::TrainConfig& config) { return static_cast<int>(config.threads); }

session::TrainConfig config_of(const ForecastCase& one) {
  session::TrainConfig config;
  config.model = one.model;
  config.strategy = one.strategy;
  config.pipeline = one.pipeline;
  config.weights = one.weights;
  config.nodes = one.nodes;
  config.workers = one.workers;
  config.microbatches = one.microbatches;
  config.threads = 1;
  config.batch = 32;
  config.train_limit = 96;
  config.test_limit = 32;
  config.epochs = 1;
  config.warmup_epochs = 0;
  config.cooldown_epochs = 0;
  config.lr = 0.001;
  config.run_dir = "none";
  config.pin = "none";
  return config;
}

std::ostream& operator<<(std::ostream& out, const ForecastCase& one) { return out << one.name; }

class MemoryForecasts : public testing::TestWithParam<ForecastCase> {};

TEST_P(MemoryForecasts, CoverWhatWorkersHoldWithinATenth) {
  const session::TrainConfig config = config_of(GetParam());
  const session::TrainResult result = run(config);
  plan::MemoryForecast forecast(result.plan, {.threads = config_threads(config)});
  for (int worker = 0; worker < result.workers; ++worker) {
    const auto held = static_cast<double>(result.memory[static_cast<std::size_t>(worker)]);
    const plan::WorkerMemory foreseen = forecast.of(worker);
    EXPECT_NEAR(static_cast<double>(foreseen.held()), held, 0.1 * held)
        << "worker " << worker << ": values " << foreseen.values << ", scratch " << foreseen.scratch
        << ", parameters " << foreseen.parameters << ", versions " << foreseen.versions
        << ", exchanges " << foreseen.exchanges;
    EXPECT_GT(foreseen.total(), foreseen.held());
  }
}

INSTANTIATE_TEST_SUITE_P(
    Strategies, MemoryForecasts,
    testing::Values(
        ForecastCase{.name = "lenet", .model = "lenet", .strategy = "serial", .workers = 1},
        ForecastCase{.name = "mlp", .model = "mlp:500-300", .strategy = "serial", .workers = 1},
        ForecastCase{
            .name = "preresnet11", .model = "preresnet11", .strategy = "serial", .workers = 1},
        ForecastCase{.name = "resnet20", .model = "resnet20", .strategy = "serial", .workers = 1},
        ForecastCase{.name = "resnet20_microbatches",
                     .model = "resnet20",
                     .strategy = "serial",
                     .workers = 1,
                     .microbatches = 4},
        ForecastCase{.name = "data_parallel", .model = "resnet20", .strategy = "data_parallel"},
        ForecastCase{
            .name = "layerpipe", .model = "resnet20", .strategy = "layerpipe", .microbatches = 4},
        ForecastCase{.name = "layerpipe_async",
                     .model = "resnet20",
                     .strategy = "layerpipe",
                     .pipeline = "async"},
        ForecastCase{.name = "layerpipe_rebuilt",
                     .model = "lenet",
                     .strategy = "layerpipe",
                     .pipeline = "async",
                     .weights = "rebuilt"},
        ForecastCase{.name = "parareal", .model = "resnet20", .strategy = "parareal"},
        ForecastCase{
            .name = "daso", .model = "lenet", .strategy = "daso", .nodes = 2, .workers = 4},
        ForecastCase{.name = "sparse_rows", .model = "mlp:200-100", .strategy = "sparse_rows"}),
    [](const testing::TestParamInfo<ForecastCase>& one) { return one.param.name; });

}  // namespace
}  // namespace plait::run
