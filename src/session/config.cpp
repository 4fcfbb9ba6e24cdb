// Limits of every setting, and the specs of optimizer, loss, schedule and machine that follow from
// them.
#include "session/config.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/error.hpp"
#include "base/nearest.hpp"
#include "run/class_weights.hpp"
#include "run/cores.hpp"

namespace plait {

namespace {

void at_least(const char* key, std::int64_t value, std::int64_t least) {
  if (value < least) setting_error(key, value, "is too small; it must be at least {}", least);
}

void at_most(const char* key, std::int64_t value, std::int64_t most) {
  if (value > most) setting_error(key, value, "is too large; it must be at most {}", most);
}

void below_one(const char* key, double value) {
  if (!(value >= 0 && value < 1)) {
    setting_error(key, value, "is out of range; it must be 0 or more and below 1");
  }
}

}  // namespace

void check_config(const TrainConfig& config) {
  check_settings(config, train_settings());
  check_plan_settings(config);
  if (config.fit_coarse && config.init.empty() && !config.resume) {
    user_error("`fit_coarse` fits to a trained network; add `init` FILE");
  }
  if (config.tensorboard && config.run_dir == "none") {
    user_error("`tensorboard` writes into the run folder; omit `run_dir` none");
  }
  below_one("momentum", config.momentum);
  below_one("beta1", config.beta1);
  below_one("beta2", config.beta2);
  if (config.loss == "mse" && config.label_smoothing > 0) {
    setting_error("label_smoothing", config.label_smoothing,
                  "is for `loss` cross_entropy; mse has none");
  }
  if (config.loss == "mse" && !config.class_weights.empty()) {
    setting_error("class_weights", config.class_weights,
                  "are of `loss` cross_entropy; mse has none");
  }
  parse_class_weights(config.class_weights);
  if (config.decay != "all" && config.weight_decay == 0) {
    setting_error("decay", config.decay,
                  "says what `weight_decay` is for; add `weight_decay` X, for example 1e-4");
  }
  check_pinning(config.pin);
  machine_of(config);
  make_optimizer(optimizer_spec(config));
  check_loss(loss_spec(config));
  check_schedule(schedule_spec(config, 1, std::max<std::int64_t>(config.warmup_steps + 1, 1)));
}

OptimizerSpec optimizer_spec(const TrainConfig& config) {
  return {.kind = config.optimizer,
          .momentum = config.optimizer == "sgd" ? config.momentum : 0.0,
          .nesterov = config.nesterov,
          .beta1 = config.beta1,
          .beta2 = config.beta2,
          .epsilon = config.adam_epsilon};
}

int optimizer_states(const TrainConfig& config) {
  return make_optimizer(optimizer_spec(config))->state_count();
}

LossSpec loss_spec(const TrainConfig& config) {
  return {.kind = config.loss, .label_smoothing = config.label_smoothing};
}

double lr_scale(const TrainConfig& config) {
  const std::string& text = config.lr_scale;
  if (text == "workers") return static_cast<double>(machine_of(config).workers());
  double scale = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), scale);
  if (error != std::errc() || stop != text.data() + text.size() || !(scale > 0 && scale <= 1e6)) {
    setting_error("lr_scale", text, "must be a number above 0, or workers");
  }
  return scale;
}

ScheduleSpec schedule_spec(const TrainConfig& config, std::int64_t steps_per_epoch,
                           std::int64_t total_steps) {
  const double scale = lr_scale(config);
  const double drop = std::llround(config.step_epochs * static_cast<double>(steps_per_epoch));
  return {.kind = config.schedule,
          .base = config.lr * scale,
          .warmup_steps = scale != 1 && config.warmup_steps == 0
                              ? std::min(steps_per_epoch, total_steps / 2)
                              : config.warmup_steps,
          .warmup_from = scale != 1 ? 1 / scale : 0,
          .step_size = std::max<std::int64_t>(1, static_cast<std::int64_t>(drop)),
          .gamma = config.step_gamma,
          .final_fraction = config.final_lr,
          .total_steps = total_steps};
}

int threads_per_worker(const TrainConfig& config) {
  if (config.threads > 0) return static_cast<int>(config.threads);
  return std::max(1, usable_cores() / machine_of(config).workers_per_node);
}

int threads_on_one_machine(const TrainConfig& config) {
  if (config.threads > 0) return static_cast<int>(config.threads);
  return std::max(1, usable_cores() / machine_of(config).workers());
}

Machine machine_of(const TrainConfig& config) {
  constexpr std::int64_t kMost = 1 << 20;
  at_most("workers", config.workers, kMost);
  at_most("nodes", config.nodes, kMost);
  at_most("workers_per_node", config.workers_per_node, kMost);
  at_least("nodes", config.nodes, 1);
  at_least("workers_per_node", config.workers_per_node, 0);
  Machine machine;
  const std::int64_t nodes = config.nodes;
  std::int64_t per_node = config.workers_per_node;
  if (per_node == 0) {
    if (config.workers % nodes != 0) {
      setting_error("workers", config.workers,
                    "cannot be shared evenly by `nodes` {}; try "
                    "`workers` {}",
                    nodes, std::max<std::int64_t>(1, config.workers / nodes) * nodes);
    }
    per_node = std::max<std::int64_t>(1, config.workers / nodes);
  } else if (config.workers != 0 && config.workers != nodes * per_node) {
    setting_error("workers", config.workers,
                  "is not `nodes` {} x `workers_per_node` {} = {}; "
                  "omit `workers`",
                  nodes, per_node, nodes * per_node);
  }
  if (nodes * per_node > kMost) {
    setting_error("nodes", nodes, "x `workers_per_node` {} is too large; it must be at most {}",
                  per_node, kMost);
  }
  machine.nodes = static_cast<int>(nodes);
  machine.workers_per_node = static_cast<int>(per_node);
  machine.memory_per_worker = config.memory_per_worker << 20;
  if (!config.link_between_nodes.empty()) {
    machine.between = parse_link(config.link_between_nodes, "`link_between_nodes`");
    if (nodes == 1) {
      setting_error("link_between_nodes", config.link_between_nodes,
                    "has no effect with one node; add "
                    "`nodes` 2");
    }
  }
  return machine;
}

}  // namespace plait
