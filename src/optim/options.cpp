// The tables of the settings of optimizers, losses and schedules.
#include "optim/options.hpp"

namespace plait::optim {

namespace {

constexpr std::string_view kOptimizer = "Optimizer and loss";
constexpr std::string_view kRate = "Learning rate";

}  // namespace

std::span<const Setting<OptimizerOptions>> optimizer_settings() {
  using O = OptimizerOptions;
  static const std::vector<Setting<O>> rows{
      {.key = "optimizer",
       .member = &O::optimizer,
       .group = kOptimizer,
       .value = "NAME",
       .help = "sgd, adam or adamw",
       .choices = "sgd, adam, adamw"},
      {.key = "momentum",
       .member = &O::momentum,
       .group = kOptimizer,
       .value = "X",
       .help = "momentum of sgd",
       .bounds = {0, 1, true},
       .used_by = "sgd"},
      {.key = "nesterov",
       .member = &O::nesterov,
       .group = kOptimizer,
       .value = "",
       .help = "use Nesterov momentum",
       .used_by = "sgd"},
      {.key = "weight_decay",
       .member = &O::weight_decay,
       .group = kOptimizer,
       .value = "X",
       .help = "L2 penalty on the weights",
       .bounds = {0, 1e30}},
      {.key = "decay",
       .member = &O::decay,
       .group = kOptimizer,
       .value = "WHICH",
       .help = "parameters that `weight_decay` applies to: all, or matrices (2 or more dimensions: "
               "not biases, not normalisation)",
       .choices = "all, matrices"},
      {.key = "beta1",
       .member = &O::beta1,
       .group = kOptimizer,
       .value = "X",
       .help = "beta1 of adam and adamw",
       .bounds = {0, 1, true},
       .used_by = "adam, adamw"},
      {.key = "beta2",
       .member = &O::beta2,
       .group = kOptimizer,
       .value = "X",
       .help = "beta2 of adam and adamw",
       .bounds = {0, 1, true},
       .used_by = "adam, adamw"},
      {.key = "adam_epsilon",
       .member = &O::adam_epsilon,
       .group = kOptimizer,
       .value = "X",
       .help = "epsilon of adam and adamw",
       .bounds = {1e-30, 1e30},
       .used_by = "adam, adamw"},
      {.key = "clip_norm",
       .member = &O::clip_norm,
       .group = kOptimizer,
       .value = "X",
       .help = "largest norm of the gradient; 0: no limit",
       .bounds = {0, 1e30}},
  };
  return rows;
}

std::span<const Setting<LossOptions>> loss_settings() {
  using O = LossOptions;
  static const std::vector<Setting<O>> rows{
      {.key = "loss",
       .member = &O::loss,
       .group = kOptimizer,
       .value = "NAME",
       .help = "cross_entropy or mse",
       .choices = "cross_entropy, mse"},
      {.key = "label_smoothing",
       .member = &O::label_smoothing,
       .group = kOptimizer,
       .value = "X",
       .help = "label smoothing of cross_entropy, 0 to 1",
       .bounds = {0, 1},
       .used_by = "cross_entropy"},
      {.key = "class_weights",
       .member = &O::class_weights,
       .group = kOptimizer,
       .value = "LIST|balanced",
       .help =
           "of cross_entropy: one weight per class, or by how rare each is in the training data",
       .used_by = "cross_entropy"},
  };
  return rows;
}

std::span<const Setting<ScheduleOptions>> schedule_settings() {
  using O = ScheduleOptions;
  static const std::vector<Setting<O>> rows{
      {.key = "lr",
       .member = &O::lr,
       .group = kRate,
       .value = "X",
       .help = "learning rate",
       .bounds = {0, 1e30}},
      {.key = "lr_scale",
       .member = &O::lr_scale,
       .group = kRate,
       .value = "X|workers",
       .help = "factor on `lr`, reached over `warmup_steps` (0: over the first epoch)"},
      {.key = "schedule",
       .member = &O::schedule,
       .group = kRate,
       .value = "NAME",
       .help = "constant, step, cosine, or plateau (drops when the test loss stops falling)",
       .choices = "constant, step, cosine, plateau"},
      {.key = "warmup_steps",
       .member = &O::warmup_steps,
       .group = kRate,
       .value = "N",
       .help = "updates until the learning rate reaches `lr`",
       .bounds = {0, static_cast<double>(std::int64_t{1} << 50)}},
      {.key = "step_epochs",
       .member = &O::step_epochs,
       .group = kRate,
       .value = "X",
       .help = "schedule step: drop the rate every X epochs",
       .bounds = {1e-9, 1e9},
       .used_by = "step"},
      {.key = "step_gamma",
       .member = &O::step_gamma,
       .group = kRate,
       .value = "X",
       .help = "schedule step: factor of a drop",
       .used_by = "step"},
      {.key = "plateau_patience",
       .member = &O::plateau_patience,
       .group = kRate,
       .value = "N",
       .help = "schedule plateau: number of epochs without a smaller test loss before a drop",
       .bounds = {0, 1e9},
       .used_by = "plateau"},
      {.key = "plateau_factor",
       .member = &O::plateau_factor,
       .group = kRate,
       .value = "X",
       .help = "schedule plateau: factor of a drop",
       .bounds = {1e-9, 1},
       .used_by = "plateau"},
      {.key = "final_lr",
       .member = &O::final_lr,
       .group = kRate,
       .value = "X",
       .help = "schedule cosine: final rate as a fraction of `lr`",
       .bounds = {0, 1},
       .used_by = "cosine"},
  };
  return rows;
}

}  // namespace plait::optim
