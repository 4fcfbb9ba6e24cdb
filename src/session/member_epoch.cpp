// The beginning and the end of an epoch: mode and learning rate, evaluation, reports and the
// checkpoint.
#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "session/member.hpp"
#include "session/trace_gather.hpp"

namespace plait::session {

namespace {

constexpr std::int64_t kStepsShown = 12;  // last steps of an epoch in the timeline

}  // namespace

void Member::begin_epoch() {
  const bool other_mode = modes_.choose(minibatches_.epochs(), epoch_losses_.train);
  const bool drops = minibatches_.follow(epoch_losses_.test);
  if (!parts_.is_zero()) return;
  const auto from_now_on = [&](const std::string& what) {
    parts_.job.observer.note(fmt::format("from epoch {} on: {}", progress_.epoch + 1, what));
  };
  if (other_mode) {
    from_now_on("weights between nodes " +
                parts_.plan.modes[static_cast<std::size_t>(modes_.mode())]);
  }
  if (drops) from_now_on(fmt::format("learning rate {:g}", minibatches_.rate(progress_.step)));
}

void Member::evaluate() {
  parts_.status.set(run::WorkerState::unhurried);
  if (!transfer_.replicated()) transfer_.collect(worker_.parameters());
  const run::Evaluation& evaluation = evaluation_.run();
  if (!std::isfinite(evaluation.loss) && parts_.is_zero()) {
    user_error("the test loss is {} after step {}; {}", evaluation.loss, progress_.step,
               divergence().hint());
  }
}

/// Everything of TrainingProgress but the metric; the seconds that the epoch took.
double Member::count_epoch() {
  const double seconds = progress_.epoch_seconds + times_.epoch();
  progress_.last_train_loss =
      progress_.epoch_loss / minibatches_.weight(progress_.epoch, minibatches_.per_epoch());
  parts_.control.broadcast(std::as_writable_bytes(std::span(&progress_.last_train_loss, 1)), 0);
  epoch_losses_.train.push_back(progress_.last_train_loss);
  progress_.epoch_loss = 0;
  progress_.epoch_seconds = 0;
  progress_.batch = 0;
  ++progress_.epoch;
  return seconds;
}

EpochReport Member::report(double seconds) {
  const auto samples = static_cast<double>(minibatches_.stream()->samples_per_epoch());
  const int mode = modes_.mode();
  return {.epoch = progress_.epoch,
          .epochs = minibatches_.epochs(),
          .step = progress_.step,
          .train_loss = progress_.last_train_loss,
          .test_loss = evaluation_.current()->loss,
          .test_accuracy = evaluation_.current()->accuracy,
          .test_top5 = evaluation_.current()->top5,
          .test_miou = evaluation_.current()->miou,
          .learning_rate = minibatches_.rate(progress_.step - 1),
          .seconds = seconds,
          .images_per_second = samples / seconds,
          .residuals = residual_book_.take(),
          .mode = mode < 0 ? "" : parts_.plan.modes[static_cast<std::size_t>(mode)]};
}

void Member::finish_epoch() {
  const double seconds = count_epoch();
  evaluate();
  const run::Evaluation& evaluation = *evaluation_.current();
  epoch_losses_.test.push_back(evaluation.loss);
  const double metric = evaluation.miou.value_or(evaluation.accuracy.value_or(-evaluation.loss));
  progress_.epochs_since_best =
      metric > progress_.best_metric ? 0 : progress_.epochs_since_best + 1;
  progress_.best_metric = std::max(progress_.best_metric, metric);
  const EpochReport epoch = report(seconds);
  TrainObserver& observer = parts_.job.observer;
  if (parts_.is_zero()) {
    // Before the checkpoint: resuming drops what came after one, never adds.
    const std::string warning = parts_.folder->write(epoch);
    if (!warning.empty()) observer.note(warning);
  }
  save(metric);
  if (parts_.is_zero()) {
    observer.epoch(epoch);
    if (stopped_early() && progress_.step < minibatches_.total_steps()) {
      observer.note(fmt::format("early stop: no improvement for {} epoch(s)", config_.early_stop));
    }
  }
  show_timeline();
  times_.begin_epoch();
}

void Member::show_timeline() {
  const trace::Trace recent = gather_events(parts_.control, parts_.trace.last(kStepsShown));
  if (!parts_.is_zero()) return;
  const std::string run_dir = parts_.folder->writes() ? parts_.folder->path().string() : "";
  parts_.job.observer.timeline({.plan = parts_.plan, .trace = recent, .run_dir = run_dir});
}

}  // namespace plait::session
