// One pipeline that a test trains: its strategy, workers and microbatches, the settings of its run,
// and the plan and the oracle that belong to them.
#pragma once

#include <algorithm>
#include <cctype>
#include <ostream>
#include <string>
#include <vector>

#include "plan/versions.hpp"
#include "run/noise_images.hpp"
#include "run/plain_sgd.hpp"
#include "run/training.hpp"

namespace plait::run {

struct PipelineCase {
  std::string strategy;
  std::string model;  ///< "": the test's own
  int workers;
  int microbatches = 4;
  std::string pipeline = "sync";
};

inline std::ostream& operator<<(std::ostream& out, const PipelineCase& one) {
  out << one.strategy << "_" << one.pipeline << "_";
  if (!one.model.empty()) out << one.model << "_";
  return out << one.workers << "_workers_" << one.microbatches << "_microbatches";
}

/// The name of a case for GoogleTest: letters, digits and underscores.
inline std::string pipeline_case_name(const testing::TestParamInfo<PipelineCase>& one) {
  std::string name = testing::PrintToString(one.param);
  std::ranges::replace_if(
      name, [](char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

class PipelineTest : public TrainTest {
 protected:
  /// A short run of the case on noise images; `model` where the case names none.
  session::TrainConfig config_of(const PipelineCase& one, const std::string& model = "") {
    session::TrainConfig config = small();
    config.model = one.model.empty() ? model : one.model;
    config.data = noise_images(folder_);
    config.strategy = one.strategy;
    config.workers = one.workers;
    config.microbatches = one.microbatches;
    config.pipeline = one.pipeline;
    config.threads = 1;
    config.batch = 16;
    config.epochs = 2;
    config.checkpoint_every = 0;
    config.weight_decay = 1e-3;
    config.train_limit = 64;
    config.test_limit = 16;
    config.stall_seconds = 10;
    return config;
  }

  static plan::Plan plan_of(const session::TrainConfig& config) {
    return plan_for(config, make_setup(config).model, session::machine_of(config));
  }

  static std::string oracle(const session::TrainConfig& config, const plan::Plan& plan) {
    return PlainSgd(config, {.delay = plan::staleness(plan),
                             .sums = sums_of(plan),
                             .together = together_in(plan)})
        .run();
  }
};

}  // namespace plait::run
