// The settings of optimizers, losses and schedules of the learning rate, with one table each, and
// the specs that follow from them.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/setting.hpp"
#include "optim/loss.hpp"
#include "optim/optimizer.hpp"
#include "optim/schedule.hpp"

namespace plait::optim {

struct OptimizerOptions {
  std::string optimizer = "sgd";
  double momentum = 0.9;
  bool nesterov = false;
  double weight_decay = 0;
  std::string decay = "all";  ///< what weight_decay is for: or matrices
  double beta1 = 0.9;
  double beta2 = 0.999;
  double adam_epsilon = 1e-8;
  double clip_norm = 0;  ///< 0: no clipping
  bool operator==(const OptimizerOptions&) const = default;
};

struct LossOptions {
  std::string loss = "cross_entropy";
  double label_smoothing = 0;
  std::string class_weights{};  ///< "1,2,0.5": one per class; balanced; "": all alike
  bool operator==(const LossOptions&) const = default;
};

struct ScheduleOptions {
  double lr = 0.01;
  std::string lr_scale = "1";  ///< lr grows to so many times itself; "workers": as many
  std::string schedule = "constant";
  std::int64_t warmup_steps = 0;
  double step_epochs = 30;  ///< schedule step: a drop each so many epochs
  double step_gamma = 0.1;
  std::int64_t plateau_patience = 10;  ///< schedule plateau: epochs without a smaller test loss
  double plateau_factor = 0.1;         ///< schedule plateau: of a drop
  double final_lr = 0;                 ///< schedule cosine: the end, as a fraction of lr
  bool operator==(const ScheduleOptions&) const = default;
};

std::span<const Setting<OptimizerOptions>> optimizer_settings();
std::span<const Setting<LossOptions>> loss_settings();
std::span<const Setting<ScheduleOptions>> schedule_settings();

/// UserError on a value that a row does not allow, on a setting that the optimizer, loss or
/// schedule does not use, and on settings that contradict each other.
void check_optimizer_options(const OptimizerOptions& options);
void check_loss_options(const LossOptions& options);
void check_schedule_options(const ScheduleOptions& options);

OptimizerSpec optimizer_spec(const OptimizerOptions& options);
/// Arrays that the optimizer keeps beside the weights.
int optimizer_states(const OptimizerOptions& options);
/// Without class weights: these may follow from the data.
LossSpec loss_spec(const LossOptions& options);

/// lr_scale as a number. UserError on what is neither a number nor "workers".
double lr_factor(const ScheduleOptions& options, std::int64_t workers);

/// How long a run is, and on how many workers.
struct RunLength {
  std::int64_t steps_per_epoch = 1;
  std::int64_t total_steps = 1;
  std::int64_t workers = 1;
};
ScheduleSpec schedule_spec(const ScheduleOptions& options, const RunLength& run);

}  // namespace plait::optim
