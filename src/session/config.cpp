// Settings that contradict each other, and the schedule and the machine that follow from them.
#include "session/config.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "run/class_weights.hpp"
#include "run/cores.hpp"

namespace plait::session {

namespace {

void at_least(const char* key, std::int64_t value, std::int64_t least) {
  if (value < least) setting_error(key, value, "is too small; it must be at least {}", least);
}

void at_most(const char* key, std::int64_t value, std::int64_t most) {
  if (value > most) setting_error(key, value, "is too large; it must be at most {}", most);
}

}  // namespace

void check_config(const TrainConfig& config) {
  check_settings(config, train_settings());
  planner::check_plan_settings(config);
  if (config.fit_coarse && config.init.empty() && !config.resume) {
    user_error("`fit_coarse` fits to a trained network; add `init` FILE");
  }
  if (config.tensorboard && config.run_dir == "none") {
    user_error("`tensorboard` writes into the run folder; omit `run_dir` none");
  }
  optim::check_optimizer_options(config);
  optim::check_loss_options(config);
  optim::check_schedule_options(config);
  run::parse_class_weights(config.class_weights);
  run::check_pinning(config.pin);
  machine_of(config);
}

double lr_scale(const TrainConfig& config) {
  return optim::lr_factor(config, machine_of(config).workers());
}

optim::ScheduleSpec schedule_spec(const TrainConfig& config, std::int64_t steps_per_epoch,
                                  std::int64_t total_steps) {
  return schedule_spec(config, {.steps_per_epoch = steps_per_epoch,
                                .total_steps = total_steps,
                                .workers = machine_of(config).workers()});
}

int threads_per_worker(const TrainConfig& config) {
  if (config.threads > 0) return static_cast<int>(config.threads);
  return std::max(1, run::usable_cores() / machine_of(config).workers_per_node);
}

int threads_on_one_machine(const TrainConfig& config) {
  if (config.threads > 0) return static_cast<int>(config.threads);
  return std::max(1, run::usable_cores() / machine_of(config).workers());
}

plan::Machine machine_of(const TrainConfig& config) {
  constexpr std::int64_t kMost = 1 << 20;
  at_most("workers", config.workers, kMost);
  at_most("nodes", config.nodes, kMost);
  at_most("workers_per_node", config.workers_per_node, kMost);
  at_least("nodes", config.nodes, 1);
  at_least("workers_per_node", config.workers_per_node, 0);
  plan::Machine machine;
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
    machine.between = plan::parse_link(config.link_between_nodes, "`link_between_nodes`");
    if (nodes == 1) {
      setting_error("link_between_nodes", config.link_between_nodes,
                    "has no effect with one node; add "
                    "`nodes` 2");
    }
  }
  return machine;
}

}  // namespace plait::session
