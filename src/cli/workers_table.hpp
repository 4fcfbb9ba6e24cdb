// Who does what in a plan, one line per worker: before a run as predicted, after it as measured.
#pragma once

#include <string>
#include <vector>

#include "plan/plan.hpp"

namespace plait::cli {

/// What is known of a worker beside its plan.
struct WorkerFigures {
  double busy = 0;  ///< share of the time
  std::int64_t memory = 0;
};

/// `measured` empty: predictions only. Of many workers the first ones are shown.
std::string workers_table(const plan::Plan& plan, const std::vector<WorkerFigures>& predicted,
                          const std::vector<WorkerFigures>& measured = {});

/// "F conv1 .. pool2; D conv2 (3 of 8), conv1; G conv1": the compute tasks of the first `workers`
/// workers; "F 7 blocks" where they are scattered.
std::vector<std::string> tasks_texts(const plan::Plan& plan, int workers);
/// "2: conv1 .. pool2; 1: conv3", or "0": how old the weights are that this worker's blocks read.
std::string staleness_text(const plan::Plan& plan, int worker);

}  // namespace plait::cli
