// Training runs for tests: configs and strategies put together as the program does it.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>

#include "checkpoint/safetensors.hpp"
#include "optim/optimizer.hpp"
#include "planner/planner.hpp"
#include "session/eval.hpp"
#include "session/train.hpp"
#include "strategy/strategy.hpp"
#include "temp_folder.hpp"

namespace plait::run {

/// ThreadSanitizer does not know libgomp's barriers: under it every worker has one thread, and what
/// is left are the threads that are ours.
#ifdef __SANITIZE_THREAD__
inline constexpr int kThreads = 1;
#else
inline constexpr int kThreads = 2;
#endif

inline plan::Plan plan_for(const session::TrainConfig& config, const model::ModelSpec& model,
                           const plan::Machine& machine) {
  const plan::Network network = plan::make_network(model);
  return strategy::make_plan(
      config.strategy, {.network = network,
                        .machine = machine,
                        .batch = config.batch,
                        .microbatches = static_cast<int>(config.microbatches),
                        .optimizer_states = make_optimizer(optimizer_spec(config))->state_count(),
                        .clip = config.clip_norm > 0,
                        .wire_bytes = config.wire == "bf16" ? 2 : 4,
                        .bucket_bytes = static_cast<std::int64_t>(config.bucket_mb * 1e6),
                        .pipeline = strategy::pipeline_request(config),
                        .tear = strategy::tear_request(config, config.replicas),
                        .exchange = strategy::exchange_request(config)});
}

/// How many workers add up gradients of each block.
inline std::vector<int> sums_of(const plan::Plan& plan) {
  std::vector<int> sums(plan.network.blocks.size(), 0);
  for (const plan::Program& program : plan.programs) {
    for (const plan::Task& task : program.tasks) {
      if (plan::is<plan::Update>(task)) ++sums[static_cast<std::size_t>(plan::block_of(task))];
    }
  }
  for (int& sum : sums) sum = std::max(1, sum);
  return sums;
}

/// A job whose plan `make` makes.
inline session::TrainJob job_with_plan(const session::TrainConfig& config,
                                       session::TrainObserver& observer, session::PlanMaker make) {
  return {.config = config,
          .config_text = "",
          .planner = std::make_shared<session::RunPlanner>(
              config, session::RunCosts(config, {}),
              session::RunPlannerOptions{.make = std::move(make)}),
          .observer = observer};
}

/// As the strategy plans without costs.
inline session::TrainJob job_of(const session::TrainConfig& config,
                                session::TrainObserver& observer) {
  return job_with_plan(config, observer,
                       [config](const model::ModelSpec& model, const plan::Machine& machine) {
                         return plan_for(config, model, machine);
                       });
}

/// The best weights of a finished run.
inline Evaluation evaluate_run(const session::TrainConfig& config,
                               const session::NetworkOfWeights& network_of = {}) {
  const auto file = session::weights_of_run(config.run_dir);
  return session::evaluate_weights(config, checkpoint::read_safetensors(file).tensors,
                                   file.string(), {.network_of = network_of});
}

inline session::TrainResult run(const session::TrainConfig& config) {
  session::TrainObserver silent;
  return session::train(job_of(config, silent));
}

/// The loss of every step.
struct LossCurve : session::TrainObserver {
  std::vector<double> losses;
  void step(const session::StepReport& report) override { losses.push_back(report.loss); }
};

inline std::vector<double> losses_of(const session::TrainConfig& config) {
  LossCurve curve;
  session::train(job_of(config, curve));
  return curve.losses;
}

class TrainTest : public testing::Test {
 protected:
  /// Small, but with several checkpoints and a shuffle per epoch.
  session::TrainConfig small() const {
    session::TrainConfig config;
    config.model = "mlp:32";
    config.train_limit = 320;
    config.test_limit = 100;
    config.batch = 32;
    config.epochs = 3;
    config.checkpoint_every = 4;
    config.threads = kThreads;
    config.run_dir = "none";
    return config;
  }

  /// The same by `workers` workers of one thread.
  session::TrainConfig parallel(int workers) const {
    session::TrainConfig config = small();
    config.strategy = "data_parallel";
    config.workers = workers;
    config.threads = 1;
    return config;
  }

  const TempFolder temporary_;
  const std::filesystem::path folder_ = temporary_.path();
};

}  // namespace plait::run
