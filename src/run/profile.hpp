// Profile: the milliseconds of every block's tasks in real training steps on made-up data, alone or
// with the same work on other cores at the same time.
#pragma once

#include <string>
#include <vector>

#include "plan/plan.hpp"

namespace plait::run {

struct ProfileConfig {
  int threads = 1;
  std::int64_t steps = 10;  ///< measured, after `warmup`
  std::int64_t warmup = 2;
  /// Once the measured steps have taken so long, three of them are enough; 0: always all.
  double enough_seconds = 0;
  int side_by_side = 1;  ///< so many workers do the same at once, each on its own cores
};

struct BlockProfile {
  std::string name;
  std::string whole;   ///< the model's block that it is a part of, or all of it; else its name
  bool added = false;  ///< not of the model
  double forward_ms = 0;
  double backward_data_ms = 0;
  double backward_weights_ms = 0;
  double update_ms = 0;
  std::int64_t macs = 0;        ///< forward, whole batch
  std::int64_t parameters = 0;  ///< trainable elements
  std::int64_t dst_bytes = 0;   ///< what the next block receives
};

struct Profile {
  std::vector<BlockProfile> blocks;
  double loss_ms = 0;
  double step_ms = 0;  ///< by one clock around each step
  double sum_ms = 0;   ///< of all tasks above, in the same steps
  double noise = 0;    ///< of the walls of all measured steps, see noise_of
};

/// How far steps of equal work are apart: their median over the fastest, less 1. A quiet machine
/// has a few percent.
double noise_of(std::vector<double> walls);
/// More than this and other programs are at work.
constexpr double kNoisy = 0.1;

/// Plays `plan`, which has one worker, on random samples. Times are means over the faster half of
/// the measured steps, and over the workers.
Profile profile(const plan::Plan& plan, const ProfileConfig& config);

/// The same again, `tries` times at most, while it is noisy and has taken less than five seconds;
/// gives the fastest of them.
Profile steady_profile(const plan::Plan& plan, const ProfileConfig& config, int tries = 3);

/// Bytes per second at which `workers` threads at once add arrays (all bytes read counted).
double measure_sum_rate(int workers);

}  // namespace plait::run
