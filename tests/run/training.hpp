// Training runs for tests: configs and strategies put together as the program does it.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <set>

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

inline plan::Plan plan_for(const session::TrainConfig& config, const graph::ModelSpec& model,
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
                        .tear = strategy::tear_request(config),
                        .exchange = strategy::exchange_request(config)});
}

/// Per block: who makes its gradient.
inline std::vector<std::set<int>> gradient_workers(const plan::Plan& plan) {
  std::vector<std::set<int>> workers(plan.network.blocks.size());
  for (int w = 0; w < plan.workers(); ++w) {
    for (const plan::Task& task : plan.programs[static_cast<std::size_t>(w)].tasks) {
      if (plan::is<plan::BackwardWeights>(task)) {
        workers[static_cast<std::size_t>(plan::block_of(task))].insert(w);
      }
    }
  }
  return workers;
}

/// How many workers add up gradients of each block.
inline std::vector<int> sums_of(const plan::Plan& plan) {
  std::vector<int> sums;
  for (const std::set<int>& workers : gradient_workers(plan)) {
    sums.push_back(std::max(1, static_cast<int>(workers.size())));
  }
  return sums;
}

/// As PlainSgdOptions::together says.
inline std::vector<bool> together_in(const plan::Plan& plan) {
  const std::vector<std::set<int>> workers = gradient_workers(plan);
  std::vector<bool> together(workers.size(), true);
  for (int b = 0; b < plan.network.size(); ++b) {
    const auto owner = static_cast<std::size_t>(plan.network.owner_of(b));
    if (workers[static_cast<std::size_t>(b)] != workers[owner]) together[owner] = false;
  }
  return together;
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
                       [config](const graph::ModelSpec& model, const plan::Machine& machine) {
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
