// Checks of the settings of optimizers, losses and schedules, and the specs that follow from them.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/error.hpp"
#include "optim/options.hpp"

namespace plait::optim {

void check_optimizer_options(const OptimizerOptions& options) {
  check_settings(options, optimizer_settings());
  check_used(options, optimizer_settings(), "optimizer", options.optimizer);
  if (options.decay != "all" && options.weight_decay == 0) {
    setting_error("decay", options.decay,
                  "says what `weight_decay` is for; add `weight_decay` X, for example 1e-4");
  }
  make_optimizer(optimizer_spec(options));
}

void check_loss_options(const LossOptions& options) {
  check_settings(options, loss_settings());
  check_used(options, loss_settings(), "loss", options.loss);
  check_loss(loss_spec(options));
}

void check_schedule_options(const ScheduleOptions& options) {
  check_settings(options, schedule_settings());
  check_used(options, schedule_settings(), "schedule", options.schedule);
  check_schedule(schedule_spec(options, {.total_steps = options.warmup_steps + 1}));
}

OptimizerSpec optimizer_spec(const OptimizerOptions& options) {
  return {.kind = options.optimizer,
          .momentum = options.optimizer == "sgd" ? options.momentum : 0.0,
          .nesterov = options.nesterov,
          .beta1 = options.beta1,
          .beta2 = options.beta2,
          .epsilon = options.adam_epsilon};
}

int optimizer_states(const OptimizerOptions& options) {
  return make_optimizer(optimizer_spec(options))->state_count();
}

LossSpec loss_spec(const LossOptions& options) {
  return {.kind = options.loss, .label_smoothing = options.label_smoothing};
}

double lr_factor(const ScheduleOptions& options, std::int64_t workers) {
  const std::string& text = options.lr_scale;
  if (text == "workers") return static_cast<double>(workers);
  double scale = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, scale);
  if (error != std::errc() || stop != end || !(scale > 0 && scale <= 1e6)) {
    setting_error("lr_scale", text, "must be a number above 0, or workers");
  }
  return scale;
}

ScheduleSpec schedule_spec(const ScheduleOptions& options, const RunLength& run) {
  const double scale = lr_factor(options, run.workers);
  const double drop = std::llround(options.step_epochs * static_cast<double>(run.steps_per_epoch));
  return {.kind = options.schedule,
          .base = options.lr * scale,
          .warmup_steps = scale != 1 && options.warmup_steps == 0
                              ? std::min(run.steps_per_epoch, run.total_steps / 2)
                              : options.warmup_steps,
          .warmup_from = scale != 1 ? 1 / scale : 0,
          .step_size = std::max<std::int64_t>(1, static_cast<std::int64_t>(drop)),
          .gamma = options.schedule == "plateau" ? options.plateau_factor : options.step_gamma,
          .patience = options.plateau_patience,
          .final_fraction = options.final_lr,
          .total_steps = run.total_steps};
}

}  // namespace plait::optim
