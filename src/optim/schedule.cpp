// The formulas of warm-up, constant, step and cosine, and the limits of their settings.
#include "optim/schedule.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.hpp"
#include "base/nearest.hpp"

namespace plait::optim {

void check_schedule(const ScheduleSpec& spec) {
  if (!(spec.base >= 0 && std::isfinite(spec.base))) {
    user_error("the learning rate is {}; it must be a number from 0", spec.base);
  }
  if (spec.warmup_steps < 0)
    user_error("warmup_steps is {}; it cannot be negative", spec.warmup_steps);
  if (!(spec.warmup_from >= 0 && std::isfinite(spec.warmup_from))) {
    user_error("the warm-up begins at {} of the learning rate; it must be a number from 0",
               spec.warmup_from);
  }
  if (spec.kind == "step") {
    if (spec.step_size < 1) {
      user_error("the step schedule drops each {} steps; give at least 1", spec.step_size);
    }
    if (!(spec.gamma > 0 && spec.gamma <= 1)) {
      user_error("gamma of the step schedule is {}; it must be above 0 and at most 1", spec.gamma);
    }
  } else if (spec.kind == "cosine") {
    if (spec.total_steps <= spec.warmup_steps) {
      user_error("the cosine schedule ends after {} steps, but its warm-up takes {}",
                 spec.total_steps, spec.warmup_steps);
    }
    if (!(spec.final_fraction >= 0 && spec.final_fraction <= 1)) {
      user_error("final_fraction of the cosine schedule is {}; it must be from 0 to 1",
                 spec.final_fraction);
    }
  } else if (spec.kind != "constant") {
    user_error("unknown schedule '{}'{}; known are constant, step and cosine", spec.kind,
               did_you_mean(spec.kind, {"constant", "step", "cosine"}));
  }
}

double learning_rate(const ScheduleSpec& spec, std::int64_t step) {
  if (step < spec.warmup_steps) {
    const double rise = spec.base * (1 - spec.warmup_from);
    return spec.base * spec.warmup_from +
           rise * static_cast<double>(step + 1) / static_cast<double>(spec.warmup_steps);
  }
  const std::int64_t after = step - spec.warmup_steps;
  if (spec.kind == "step") {
    return spec.base * std::pow(spec.gamma, static_cast<double>(after / spec.step_size));
  }
  if (spec.kind == "cosine") {
    const auto length = static_cast<double>(spec.total_steps - spec.warmup_steps);
    const double part = std::min(static_cast<double>(after) / length, 1.0);
    const double fall = (1 + std::cos(std::numbers::pi * part)) / 2;
    return spec.base * (spec.final_fraction + (1 - spec.final_fraction) * fall);
  }
  return spec.base;
}

}  // namespace plait::optim
