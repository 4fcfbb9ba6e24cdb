// Profile: the milliseconds of every block's three tasks in real training steps on made-up data.
#pragma once

#include <string>
#include <vector>

#include "tensor/shape.hpp"

namespace plait {

struct ProfileConfig {
  std::string model = "lenet";
  Shape data_shape{1, 28, 28};
  int classes = 10;
  std::int64_t batch = 64;
  int threads = 1;
  std::int64_t steps = 10;  ///< measured, after `warmup`
  std::int64_t warmup = 2;
};

struct BlockProfile {
  std::string name;
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
};

/// Times are means over the faster half of the measured steps.
Profile profile(const ProfileConfig& config);

}  // namespace plait
