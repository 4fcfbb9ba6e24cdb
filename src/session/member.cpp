// The training loop: steps, losses, checkpoints, evaluation, modes, and what worker 0 tells the
// observer.
#include "session/member.hpp"

#include <algorithm>
#include <cmath>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "session/trace_gather.hpp"

namespace plait {

namespace {

constexpr std::size_t kStepsTimed = 1000;  // the last so many give the median step
constexpr std::int64_t kStepsShown = 12;   // the last so many of an epoch are told

LossSpec loss_of(const MemberParts& parts) {
  LossSpec loss = loss_spec(parts.job.config);
  loss.class_weights = parts.setup.weights.of_class;
  return loss;
}

WorkerOptions worker_options(const MemberParts& parts, std::int64_t samples) {
  const TrainConfig& config = parts.job.config;
  return {.rank = parts.group.rank(),
          .threads = threads_per_worker(config),
          .seed = config.seed,
          .loss = loss_of(parts),
          .optimizer = optimizer_spec(config),
          .weight_decay = config.weight_decay,
          .decay_matrices = config.decay == "matrices",
          .clip_norm = config.clip_norm,
          .stale_lr = config.stale_lr,
          .tail = config.drop_last ? 0 : samples % config.batch};
}

/// The part of each minibatch that the load tasks of a program bring.
BatchOptions::Part part_of(const Program& program) {
  BatchOptions::Part part{0, 0, 0};
  for (const Task& task : program.tasks) {
    const auto* load = std::get_if<Load>(&task.what);
    if (load == nullptr) continue;
    const auto& [begin, end, of] = load->samples;
    if (part.parts == 0) part = {begin, end, of};
    part.begin = std::min(part.begin, begin);
    part.end = std::max(part.end, end);
  }
  return part.parts == 0 ? BatchOptions::Part{0, 0, 1} : part;
}

/// Whether a worker with this program can evaluate: it has every block, and its running statistics
/// move (replicas that take microbatches in turn move them on the first one only).
bool has_forward_of_all(const Plan& plan, const Program& program) {
  std::vector<bool> has(plan.network.blocks.size(), false);
  for (const Task& task : program.tasks) {
    const auto* forward = std::get_if<Forward>(&task.what);
    if (forward == nullptr) continue;
    const auto block = static_cast<std::size_t>(forward->block);
    const bool current = forward->moves_state || plan.network.blocks[block].state == 0;
    has[block] = has[block] || current;
  }
  return std::ranges::all_of(has, [](bool x) { return x; });
}

/// Whether something is done at the end of a range only.
bool has_ends(const Plan& plan) {
  return std::ranges::any_of(plan.programs, [](const Program& program) {
    return std::ranges::any_of(program.tasks, &When::at_end, &Task::when);
  });
}

}  // namespace

Member::Member(const MemberParts& parts)
    : parts_(parts),
      config_(parts.job.config),
      stream_(std::make_shared<BatchStream>(
          parts.setup.data.train,
          BatchOptions{
              .batch = config_.batch,
              .seed = config_.seed,
              .shuffle = config_.shuffle,
              .drop_last = config_.drop_last,
              .part = part_of(parts.plan.programs[static_cast<std::size_t>(parts.group.rank())])})),
      weights_(*stream_, parts.setup.weights,
               parts.plan.programs[static_cast<std::size_t>(parts.group.rank())].averages),
      per_epoch_(stream_->batches_per_epoch()),
      total_steps_(config_.steps > 0 ? config_.steps : config_.epochs * per_epoch_),
      schedule_(schedule_spec(config_, per_epoch_, total_steps_)),
      worker_(parts.plan, worker_options(parts, parts.setup.data.train->size()),
              WorkerLinks{.group = parts.group,
                          .trace = parts.trace,
                          .status = parts.status,
                          .next_batch = [this](Batch& batch) { prefetch_->next(batch); },
                          .minibatch = [this](std::int64_t number) { return minibatch(number); },
                          .hook = parts.job.hook}),
      everybody_has_all_(std::ranges::all_of(
          parts.plan.programs,
          [&](const Program& program) { return has_forward_of_all(parts.plan, program); })),
      owners_(owners(parts.plan)),
      state_owners_(state_owners(parts.plan)),
      drains_(parts.plan.depth() > 0 || std::ranges::max(staleness(parts.plan)) > 0 ||
              has_ends(parts.plan)),
      word_of_zero_(parts.control, [this] { return decide(); }),
      losses_(parts.plan, parts.control),
      residual_book_(parts.plan.network, parts.control, worker_) {
  check_schedule(schedule_);
  if (is_zero() || everybody_has_all_) {
    if (parts.plan.network.cut) {
      whole_.emplace(parts.setup.model,
                     ChainOptions{.batch = config_.batch, .threads = threads_per_worker(config_)});
    }
    evaluator_.emplace(whole_ ? *whole_ : worker_.home(), parts.setup.data.test,
                       loss_spec(config_));
  }
}

Minibatch Member::minibatch(std::int64_t number) const {
  return {.samples = stream_->batch_size(number % per_epoch_),
          .learning_rate = learning_rate(schedule_, number),
          .weight = weights_.of(number)};
}

TrainResult Member::run() {
  start();
  const std::int64_t first_step = progress_.step;
  while (progress_.step < total_steps_ && !stopped_early() && !stop_) {
    choose_mode();
    play_to(std::min(total_steps_, (progress_.epoch + 1) * per_epoch_));
    if (progress_.batch == per_epoch_) finish_epoch();
  }
  word_of_zero_.finish();
  if (progress_.step > saved_step_) {
    if (!stop_) evaluate();
    save();
  }
  if (!evaluation_ && !stop_) evaluate();
  TrainResult done = result(first_step);
  parts_.status.set(WorkerState::finished);
  return done;
}

void Member::start() {
  if (is_zero()) {
    if (!config_.init.empty()) import_initial_weights();
    if (config_.resume) restore();
    const std::string damage = parts_.folder->begin(progress_.step);
    if (!damage.empty()) parts_.job.observer.note(damage);
  }
  if (!config_.init.empty() || config_.resume) share_parameters();
  prefetch_.emplace(stream_, PrefetchOptions{.epoch = static_cast<std::uint64_t>(progress_.epoch),
                                             .index = progress_.batch});
  if (is_zero()) parts_.job.observer.begin(headline());
  parts_.control.barrier();  // the workers' traces count from one moment
  worker_.begin_trace();
  epoch_watch_ = saved_watch_ = reported_ = Stopwatch();
}

/// Plays minibatches up to `last` and lets the pipeline run empty. A plan without offsets and old
/// weights may stop, and save, after every step; others only where they begin anew.
void Member::play_to(std::int64_t last) {
  const std::int64_t depth = parts_.plan.depth();
  if (drains_ && config_.checkpoint_every > 0) {
    const std::int64_t every = config_.checkpoint_every;
    last = std::min(last, (progress_.step / every + 1) * every);
  }
  const MinibatchRange range{progress_.step, last, std::max(0, mode_)};
  bool save_wanted = false;
  for (std::int64_t step = range.first; step < range.last + depth; ++step) {
    const Word word = word_of_zero_.next();
    stop_ = stop_ || word.stop;
    save_wanted = save_wanted || word.save;
    if (drains_ && word.save) tell_of_late_checkpoint();
    if (!drains_ && stop_) break;
    one_step(step, range);
    const std::int64_t done = step + 1 - depth;
    if (done <= range.first) continue;
    progress_.step = done;
    progress_.batch = done - progress_.epoch * per_epoch_;
    const bool epoch_ends = progress_.batch == per_epoch_;
    if (!drains_ && !epoch_ends && checkpoint_due({.stop = false, .save = save_wanted})) {
      save_wanted = false;
      take_losses(true);
      save();
    }
  }
  take_losses(true);
  if (drains_ && progress_.batch != per_epoch_ &&
      checkpoint_due({.stop = false, .save = save_wanted})) {
    save();
  }
}

/// Where steps overlap a checkpoint by the clock would be one of other bits.
void Member::tell_of_late_checkpoint() {
  if (!is_zero() || told_of_late_checkpoint_ || !parts_.folder->writes()) return;
  told_of_late_checkpoint_ = true;
  parts_.job.observer.note(
      fmt::format("{} saves at the end of epochs, whatever --checkpoint-minutes says; for more "
                  "checkpoints add --checkpoint-every N",
                  parts_.plan.strategy));
}

void Member::one_step(std::int64_t step, const MinibatchRange& range) {
  const Stopwatch watch;
  try {
    worker_.play(step, range);
  } catch (const NonFiniteLoss& loss) {
    stop_on_non_finite(loss);
  }
  evaluation_.reset();
  const double seconds = watch.seconds();
  play_seconds_ += seconds;
  if (step_seconds_.size() < kStepsTimed) step_seconds_.emplace_back();
  step_seconds_[steps_timed_++ % kStepsTimed] = seconds;
  parts_.status.set(WorkerState::elsewhere);
  losses_.add(worker_.take_losses(), step, range);
  take_losses(false);
}

void Member::take_losses(bool wait) {
  for (const MinibatchLoss& line : losses_.collect(wait)) {
    progress_.epoch_loss += line.loss.sum;
    const Minibatch batch = minibatch(line.minibatch);
    const auto samples = static_cast<double>(batch.samples);
    parts_.job.observer.step(
        {.step = line.minibatch + 1,
         .total_steps = total_steps_,
         .epoch = line.minibatch / per_epoch_ + 1,
         .loss = batch.weight->whole > 0 ? line.loss.sum / batch.weight->whole : 0,
         .learning_rate = batch.learning_rate,
         .images_per_second = samples / std::max(reported_.seconds(), 1e-9)});
    reported_ = Stopwatch();
  }
}

void Member::stop_on_non_finite(const NonFiniteLoss& loss) const {
  user_error(
      "loss is {} at step {}{}; block '{}' is the first whose result is "
      "not finite; {}; {}",
      std::isnan(loss.loss) ? std::fabs(loss.loss) : loss.loss, loss.minibatch + 1,
      parts_.plan.workers() > 1 ? fmt::format(" on worker {}", parts_.group.rank()) : "",
      loss.block.empty() ? "loss" : loss.block, last_good(), advice());
}

bool Member::stopped_early() const {
  return config_.early_stop > 0 && progress_.epochs_since_best >= config_.early_stop;
}

bool Member::checkpoint_due(const Word& word) const {
  if (parts_.checkpoints.empty()) return false;
  return word.save ||
         (config_.checkpoint_every > 0 && progress_.step % config_.checkpoint_every == 0);
}

Word Member::decide() const {
  const std::atomic<bool>* interrupt = parts_.job.interrupt;
  return {.stop = interrupt != nullptr && interrupt->load(),
          .save = config_.checkpoint_minutes > 0 &&
                  saved_watch_.seconds() > config_.checkpoint_minutes * 60};
}

void Member::evaluate() {
  parts_.status.set(WorkerState::unhurried);
  if (!everybody_has_all_) collect_parameters();
  const Dataset& test = *parts_.setup.data.test;
  const std::int64_t size = test.size();
  const std::int64_t workers = everybody_has_all_ ? parts_.control.size() : 1;
  const std::int64_t rank = parts_.control.rank();
  EvaluationSums sums;
  if (rank < workers) {
    std::optional<ParameterStore> whole;
    if (whole_) {
      whole.emplace(*whole_, config_.seed, 0);
      whole->import_weights(worker_.parameters().export_weights(), "the workers");
    }
    sums = evaluator_->run(whole ? *whole : worker_.parameters(),
                           {.first = size * rank / workers,
                            .last = size * (rank + 1) / workers,
                            .tick = [&] { parts_.status.set(WorkerState::unhurried); }});
  }
  std::vector<EvaluationSums> all(static_cast<std::size_t>(parts_.control.size()));
  parts_.control.all_gather(std::as_bytes(std::span(&sums, 1)),
                            std::as_writable_bytes(std::span(all)));
  EvaluationSums total;
  for (const EvaluationSums& one : all) {
    total.loss += one.loss;
    total.correct += one.correct;
    total.samples += one.samples;
  }
  evaluation_ = to_evaluation(total, test.classes());
  if (!std::isfinite(evaluation_->loss) && is_zero()) {
    user_error("the test loss is {} after step {}; {}; {}", evaluation_->loss, progress_.step,
               last_good(), advice());
  }
}

void Member::choose_mode() {
  if (!parts_.job.mode) return;
  const std::int64_t epochs = (total_steps_ + per_epoch_ - 1) / per_epoch_;
  const int mode = parts_.job.mode(epochs, epoch_losses_);
  if (mode == mode_) return;
  mode_ = mode;
  if (is_zero()) {
    parts_.job.observer.note(fmt::format("from epoch {} on: weights between nodes {}",
                                         progress_.epoch + 1,
                                         parts_.plan.modes[static_cast<std::size_t>(mode)]));
  }
}

void Member::finish_epoch() {
  const auto samples = static_cast<double>(stream_->samples_per_epoch());
  const double seconds = progress_.epoch_seconds + epoch_watch_.seconds();
  progress_.last_train_loss = progress_.epoch_loss / weights_.epoch(progress_.epoch, per_epoch_);
  parts_.control.broadcast(std::as_writable_bytes(std::span(&progress_.last_train_loss, 1)), 0);
  epoch_losses_.push_back(progress_.last_train_loss);
  progress_.epoch_loss = 0;
  progress_.epoch_seconds = 0;
  progress_.batch = 0;
  ++progress_.epoch;
  evaluate();
  residuals_ = residual_book_.take();
  const double metric = evaluation_->accuracy.value_or(-evaluation_->loss);
  progress_.epochs_since_best =
      metric > progress_.best_metric ? 0 : progress_.epochs_since_best + 1;
  progress_.best_metric = std::max(progress_.best_metric, metric);
  const EpochReport report{
      .epoch = progress_.epoch,
      .epochs = (total_steps_ + per_epoch_ - 1) / per_epoch_,
      .step = progress_.step,
      .train_loss = progress_.last_train_loss,
      .test_loss = evaluation_->loss,
      .test_accuracy = evaluation_->accuracy,
      .learning_rate = learning_rate(schedule_, progress_.step - 1),
      .seconds = seconds,
      .images_per_second = samples / seconds,
      .residuals = residuals_,
      .mode = mode_ < 0 ? "" : parts_.plan.modes[static_cast<std::size_t>(mode_)]};
  if (is_zero()) {
    // Before the checkpoint: resuming drops what came after one, never adds.
    const std::string warning = parts_.folder->write(report);
    if (!warning.empty()) parts_.job.observer.note(warning);
  }
  save(metric);
  if (is_zero()) {
    parts_.job.observer.epoch(report);
    if (stopped_early() && progress_.step < total_steps_) {
      parts_.job.observer.note(
          fmt::format("early stop: no improvement for {} epoch(s)", config_.early_stop));
    }
  }
  show_timeline();
  epoch_watch_ = Stopwatch();
}

void Member::show_timeline() {
  const Trace recent = gather_events(parts_.control, parts_.trace.last(kStepsShown));
  if (!is_zero()) return;
  const std::string run_dir = parts_.folder->writes() ? parts_.folder->path().string() : "";
  parts_.job.observer.timeline({.plan = parts_.plan, .trace = recent, .run_dir = run_dir});
}

}  // namespace plait
