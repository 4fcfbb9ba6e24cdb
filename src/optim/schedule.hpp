// The learning rate of each update: a linear warm-up, then one of four curves. A pure function of
// the step and, on a plateau, of the losses of the epochs before, so that a resumed run needs no
// other state for it.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace plait::optim {

struct ScheduleSpec {
  std::string kind = "constant";  // constant, step, cosine, plateau
  double base = 0.1;
  std::int64_t warmup_steps = 0;
  double warmup_from = 0;        // the fraction of base that the warm-up begins at
  std::int64_t step_size = 0;    // step: the rate is multiplied by gamma each so many steps
  double gamma = 0.1;            // step, plateau: factor of a drop
  std::int64_t patience = 10;    // plateau: epochs without improvement that are let pass
  double final_fraction = 0;     // cosine: ends at final_fraction * base
  std::int64_t total_steps = 0;  // cosine: the end, counted with the warm-up
};

/// UserError on an unknown kind or a number out of range.
void check_schedule(const ScheduleSpec& spec);

/// The rate of the update after `step` updates: 0 for the first one.
///   warm-up, step < W:   base (v + (1 - v) (step + 1) / W), v being warmup_from
///   then, t = step - W:  base | base gamma^floor(t / step_size) | base gamma^drops
///                        | base (f + (1 - f) (1 + cos(pi t / (total - W))) / 2), base f from the
///                        end on
double learning_rate(const ScheduleSpec& spec, std::int64_t step, std::int64_t drops = 0);

/// How often the rate has dropped after epochs with these losses: PyTorch's ReduceLROnPlateau with
/// its usual threshold. An epoch improves if its loss is below (1 - 1e-4) of the best before it;
/// after more than `patience` epochs that do not, the rate drops and counting begins anew.
std::int64_t plateau_drops(const ScheduleSpec& spec, std::span<const double> losses);

}  // namespace plait::optim
