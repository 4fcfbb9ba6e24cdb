// The training loop: steps, losses, and checkpoints between steps.
#include "session/member.hpp"

#include <algorithm>

namespace plait::session {

namespace {

optim::LossSpec loss_of(const MemberParts& parts) {
  optim::LossSpec loss = optim::loss_spec(parts.job.config);
  loss.class_weights = parts.setup.weights.of_class;
  return loss;
}

run::WorkerOptions worker_options(const MemberParts& parts) {
  const TrainConfig& config = parts.job.config;
  return {.rank = parts.group.rank(),
          .threads = threads_per_worker(config),
          .seed = config.seed,
          .loss = loss_of(parts),
          .optimizer = optim::optimizer_spec(config),
          .weight_decay = config.weight_decay,
          .decay_matrices = config.decay == "matrices",
          .clip_norm = config.clip_norm,
          .stale_lr = config.stale_lr,
          .tail = config.drop_last ? 0 : parts.setup.data.train->size() % config.batch};
}

}  // namespace

Member::Member(const MemberParts& parts)
    : parts_(parts),
      config_(parts.job.config),
      minibatches_(config_, parts.setup, parts.program()),
      worker_(parts.plan, worker_options(parts),
              run::WorkerLinks{.group = parts.group,
                               .trace = parts.trace,
                               .status = parts.status,
                               .next_batch = [this](data::Batch& batch) { prefetch_->next(batch); },
                               .minibatch = [this](std::int64_t m) { return minibatches_.of(m); },
                               .hook = parts.job.hook}),
      transfer_(parts.plan, parts.control),
      evaluation_(parts_, worker_, transfer_.replicated()),
      control_(parts.control, [this] { return decide(); }),
      losses_(parts.plan, parts.control),
      residual_book_(parts.plan.network, parts.control, worker_),
      modes_(planner::modes_of(config_)),
      saves_(parts.plan, {.every = config_.checkpoint_every,
                          .minutes = config_.checkpoint_minutes,
                          .writes = !parts.checkpoints.empty()}) {}

TrainResult Member::run() {
  start();
  const std::int64_t first_step = progress_.step;
  const std::int64_t per_epoch = minibatches_.per_epoch();
  while (progress_.step < minibatches_.total_steps() && !stopped_early() && !stop_) {
    begin_epoch();
    play_to(std::min(minibatches_.total_steps(), (progress_.epoch + 1) * per_epoch));
    if (progress_.batch == per_epoch) finish_epoch();
  }
  control_.finish();
  if (progress_.step > saves_.saved_step()) {
    if (!stop_) evaluate();
    save();
  }
  if (!evaluation_.current() && !stop_) evaluate();
  TrainResult done = result(first_step);
  parts_.status.set(run::WorkerState::finished);
  return done;
}

void Member::start() {
  if (parts_.is_zero()) {
    if (!config_.init.empty()) import_initial_weights();
    if (config_.resume) restore();
    const std::string damage = parts_.folder->begin(progress_.step);
    if (!damage.empty()) parts_.job.observer.note(damage);
  }
  if (!config_.init.empty() || config_.resume) share();
  prefetch_.emplace(minibatches_.stream(),
                    data::PrefetchOptions{.epoch = static_cast<std::uint64_t>(progress_.epoch),
                                          .index = progress_.batch});
  if (parts_.is_zero()) parts_.job.observer.begin(headline());
  parts_.control.barrier();  // the workers' traces count from one moment
  worker_.begin_trace();
  saves_.begin(progress_.step);
  times_.begin_epoch();
  times_.begin_report();
}

/// Plays minibatches up to `last` and lets the pipeline run empty. A plan without offsets and old
/// weights may stop, and save, after every step; others only between ranges.
void Member::play_to(std::int64_t last) {
  const std::int64_t depth = parts_.plan.depth();
  const bool drains = saves_.between_ranges_only();
  const plan::MinibatchRange range{progress_.step, saves_.range_end(progress_.step, last),
                                   modes_.played()};
  bool save_wanted = false;
  for (std::int64_t step = range.first; step < range.last + depth; ++step) {
    const Control control = control_.next();
    stop_ = stop_ || control.stop;
    save_wanted = save_wanted || control.save;
    if (drains && control.save) note_late_checkpoint();
    if (!drains && stop_) break;
    one_step(step, range);
    const std::int64_t done = step + 1 - depth;
    if (done <= range.first) continue;
    progress_.step = done;
    progress_.batch = done - progress_.epoch * minibatches_.per_epoch();
    const bool epoch_ends = progress_.batch == minibatches_.per_epoch();
    if (!drains && !epoch_ends && saves_.due(progress_.step, save_wanted)) {
      save_wanted = false;
      take_losses(true);
      save();
    }
  }
  take_losses(true);
  if (drains && progress_.batch != minibatches_.per_epoch() &&
      saves_.due(progress_.step, save_wanted)) {
    save();
  }
}

/// Where steps overlap, the bits of a run would depend on when the clock asked for a checkpoint.
void Member::note_late_checkpoint() {
  if (!parts_.is_zero() || !parts_.folder->writes() || !saves_.first_late_save()) return;
  parts_.job.observer.note(
      fmt::format("{} saves at the end of epochs, whatever `checkpoint_minutes` says; for more "
                  "checkpoints add `checkpoint_every` N",
                  parts_.plan.strategy));
}

void Member::one_step(std::int64_t step, const plan::MinibatchRange& range) {
  const Stopwatch watch;
  try {
    worker_.play(step, range);
  } catch (const run::NonFiniteLoss& loss) {
    divergence().stop(loss, parts_.group.rank());
  }
  evaluation_.weights_changed();
  times_.add_step(watch.seconds());
  parts_.status.set(run::WorkerState::elsewhere);
  losses_.add(worker_.take_losses(), step, range);
  take_losses(false);
}

void Member::take_losses(bool wait) {
  for (const run::MinibatchLoss& line : losses_.collect(wait)) {
    progress_.epoch_loss += line.loss.sum;
    const run::Minibatch batch = minibatches_.of(line.minibatch);
    const auto samples = static_cast<double>(batch.samples);
    parts_.job.observer.step(
        {.step = line.minibatch + 1,
         .total_steps = minibatches_.total_steps(),
         .epoch = line.minibatch / minibatches_.per_epoch() + 1,
         .loss = batch.weight->whole > 0 ? line.loss.sum / batch.weight->whole : 0,
         .learning_rate = batch.learning_rate,
         .images_per_second = samples / std::max(times_.lap(), 1e-9)});
  }
}

bool Member::stopped_early() const {
  return config_.early_stop > 0 && progress_.epochs_since_best >= config_.early_stop;
}

Control Member::decide() const {
  const std::atomic<bool>* interrupt = parts_.job.interrupt;
  return {.stop = interrupt != nullptr && interrupt->load(), .save = saves_.due_by_time()};
}

}  // namespace plait::session
