// The learning rate of each update: a linear warm-up, then one of three curves. A pure function of
// the step, so that a resumed run needs no state for it.
#pragma once

#include <cstdint>
#include <string>

namespace plait::optim {

struct ScheduleSpec {
  std::string kind = "constant";  // constant, step, cosine
  double base = 0.1;
  std::int64_t warmup_steps = 0;
  double warmup_from = 0;      // the fraction of base that the warm-up begins at
  std::int64_t step_size = 0;  // step: the rate is multiplied by gamma each so many steps
  double gamma = 0.1;
  double final_fraction = 0;     // cosine: ends at final_fraction * base
  std::int64_t total_steps = 0;  // cosine: the end, counted with the warm-up
};

/// UserError on an unknown kind or a number out of range.
void check_schedule(const ScheduleSpec& spec);

/// The rate of the update after `step` updates: 0 for the first one.
///   warm-up, step < W:   base (v + (1 - v) (step + 1) / W), v being warmup_from
///   then, t = step - W:  base | base gamma^floor(t / step_size)
///                        | base (f + (1 - f) (1 + cos(pi t / (total - W))) / 2), base f from the
///                        end on
double learning_rate(const ScheduleSpec& spec, std::int64_t step);

}  // namespace plait::optim
