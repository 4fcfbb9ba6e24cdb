#include "run/config.hpp"

#include <algorithm>
#include <cmath>
#include <thread>

#include "base/error.hpp"
#include "base/nearest.hpp"

namespace plait {

namespace {

void at_least(const char* key, std::int64_t value, std::int64_t least) {
  if (value < least) user_error("--{} {} is too small; it must be at least {}", key, value, least);
}

void at_most(const char* key, std::int64_t value, std::int64_t most) {
  if (value > most) user_error("--{} {} is too large; it must be at most {}", key, value, most);
}

void between(const char* key, double value, double low, double high) {
  if (!(value >= low && value <= high)) {
    user_error("--{} {} is out of range; it must be between {} and {}", key, value, low, high);
  }
}

}  // namespace

void check_config(const TrainConfig& config) {
  at_least("batch", config.batch, 1);
  at_least("epochs", config.epochs, 1);
  at_least("steps", config.steps, 0);
  at_least("workers", config.workers, 1);
  at_least("threads", config.threads, 0);
  at_least("warmup-steps", config.warmup_steps, 0);
  at_least("keep-last", config.keep_last, 1);
  at_least("checkpoint-every", config.checkpoint_every, 0);
  at_least("early-stop", config.early_stop, 0);
  at_least("train-limit", config.train_limit, 0);
  at_least("test-limit", config.test_limit, 0);
  // Far beyond use, but small enough that products of them stay whole numbers.
  at_most("batch", config.batch, std::int64_t{1} << 24);
  at_most("threads", config.threads, 4096);
  at_most("epochs", config.epochs, 1'000'000'000);
  at_most("steps", config.steps, std::int64_t{1} << 50);
  at_most("warmup-steps", config.warmup_steps, std::int64_t{1} << 50);
  at_most("keep-last", config.keep_last, 1'000'000);
  between("lr", config.lr, 0, 1e30);
  between("clip-norm", config.clip_norm, 0, 1e30);
  between("weight-decay", config.weight_decay, 0, 1e30);
  between("checkpoint-minutes", config.checkpoint_minutes, 0, 1e9);
  between("step-epochs", config.step_epochs, 1e-9, 1e9);
  if (config.strategy != "serial") {
    user_error("--strategy {} is not known{}; this build has: serial", config.strategy,
               did_you_mean(config.strategy, {"serial"}));
  }
  if (config.workers != 1) {
    user_error("--workers {} is too many for strategy serial, which uses exactly 1",
               config.workers);
  }
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

LossSpec loss_spec(const TrainConfig& config) {
  return {.kind = config.loss, .label_smoothing = config.label_smoothing};
}

ScheduleSpec schedule_spec(const TrainConfig& config, std::int64_t steps_per_epoch,
                           std::int64_t total_steps) {
  const double drop = std::llround(config.step_epochs * static_cast<double>(steps_per_epoch));
  return {.kind = config.schedule,
          .base = config.lr,
          .warmup_steps = config.warmup_steps,
          .step_size = std::max<std::int64_t>(1, static_cast<std::int64_t>(drop)),
          .gamma = config.step_gamma,
          .final_fraction = config.final_lr,
          .total_steps = total_steps};
}

int threads_per_worker(const TrainConfig& config) {
  if (config.threads > 0) return static_cast<int>(config.threads);
  const auto cores = static_cast<std::int64_t>(std::max(1U, std::thread::hardware_concurrency()));
  return static_cast<int>(std::max<std::int64_t>(1, cores / config.workers));
}

}  // namespace plait
