// Measures a network on this machine for the planner: its tasks at the batch sizes that plans need,
// the slowdown when all cores work, the speed of adding gradients.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cost/profile_file.hpp"
#include "plan/plan.hpp"
#include "run/profile.hpp"

namespace plait::session {

struct MeasureRequest {
  std::function<plan::Plan(std::int64_t batch)> plan;  ///< of one worker
  std::vector<std::int64_t> batches{};                 ///< the main one first
  run::ProfileConfig config{};
  bool together = true;  ///< also with all cores at work
};

/// Told what is measured next: "batch 32", "2 workers at once".
using Measuring = std::function<void(const std::string& what)>;

/// The batch, its half, quarter and eighth, and the microbatch: plans for any number of workers are
/// made from these, so that all of them rest on the same numbers.
std::vector<std::int64_t> batches_to_measure(std::int64_t batch, std::int64_t microbatches);

cost::ProfilePoint to_point(const run::Profile& measured, std::int64_t batch);

/// Points of all batches, contention, the rate of sums, noise. Whose network it is, the caller
/// knows.
cost::ProfileFile measure_points(const MeasureRequest& request, const Measuring& told);

/// Adds to a file that has the point of batches.front() already.
void measure_more_points(const MeasureRequest& request, const Measuring& told,
                         cost::ProfileFile& file);

/// "" where the machine was quiet, else two lines: how noisy it was, and `advice`.
std::string noise_note(double noise, const std::string& advice);

}  // namespace plait::session
