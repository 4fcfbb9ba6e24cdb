// The formulas of warm-up, constant, step, cosine and plateau, and the limits of their settings.
#include "optim/schedule.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
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
  const bool drops = spec.kind == "step" || spec.kind == "plateau";
  if (spec.kind == "step" && spec.step_size < 1) {
    user_error("the step schedule drops each {} steps; give at least 1", spec.step_size);
  }
  if (spec.kind == "plateau" && spec.patience < 0) {
    user_error("the plateau schedule has the patience of {} epochs; give at least 0",
               spec.patience);
  }
  if (drops && !(spec.gamma > 0 && spec.gamma <= 1)) {
    user_error("the factor of the {} schedule is {}; it must be above 0 and at most 1", spec.kind,
               spec.gamma);
  }
  if (spec.kind == "cosine") {
    if (spec.total_steps <= spec.warmup_steps) {
      user_error("the cosine schedule ends after {} steps, but its warm-up takes {}",
                 spec.total_steps, spec.warmup_steps);
    }
    if (!(spec.final_fraction >= 0 && spec.final_fraction <= 1)) {
      user_error("final_fraction of the cosine schedule is {}; it must be from 0 to 1",
                 spec.final_fraction);
    }
  } else if (!drops && spec.kind != "constant") {
    user_error("unknown schedule '{}'{}; known are constant, step, cosine and plateau", spec.kind,
               did_you_mean(spec.kind, {"constant", "step", "cosine", "plateau"}));
  }
}

std::int64_t plateau_drops(const ScheduleSpec& spec, std::span<const double> losses) {
  constexpr double kThreshold = 1e-4;
  if (spec.kind != "plateau") return 0;
  double best = std::numeric_limits<double>::infinity();
  std::int64_t without = 0;
  std::int64_t drops = 0;
  for (const double loss : losses) {
    const bool improves = loss < best * (1 - kThreshold);
    if (improves) best = loss;
    without = improves ? 0 : without + 1;
    if (without <= spec.patience) continue;
    without = 0;
    ++drops;
  }
  return drops;
}

double learning_rate(const ScheduleSpec& spec, std::int64_t step, std::int64_t drops) {
  if (step < spec.warmup_steps) {
    const double rise = spec.base * (1 - spec.warmup_from);
    return spec.base * spec.warmup_from +
           rise * static_cast<double>(step + 1) / static_cast<double>(spec.warmup_steps);
  }
  const std::int64_t after = step - spec.warmup_steps;
  if (spec.kind == "step") {
    return spec.base * std::pow(spec.gamma, static_cast<double>(after / spec.step_size));
  }
  if (spec.kind == "plateau") return spec.base * std::pow(spec.gamma, static_cast<double>(drops));
  if (spec.kind == "cosine") {
    const auto length = static_cast<double>(spec.total_steps - spec.warmup_steps);
    const double part = std::min(static_cast<double>(after) / length, 1.0);
    const double fall = (1 + std::cos(std::numbers::pi * part)) / 2;
    return spec.base * (spec.final_fraction + (1 - spec.final_fraction) * fall);
  }
  return spec.base;
}

}  // namespace plait::optim
