// Where a member's weights come from and go to: files, checkpoints, the other members.
#include <algorithm>

#include "base/error.hpp"
#include "graph/model_hash.hpp"
#include "session/fit.hpp"
#include "session/member.hpp"

namespace plait::session {

void Member::import_initial_weights() {
  std::vector<checkpoint::NamedTensor> weights = initial_weights(parts_.job, parts_.setup.model);
  if (config_.fit_coarse && !config_.resume) {
    parts_.status.set(run::WorkerState::unhurried);
    const plan::Network network =
        parts_.job.planner->network_to_fit(parts_.setup.model, parts_.plan.machine);
    weights = fit_added(network, weights,
                        {.steps = config_.fit_steps,
                         .batch = config_.batch,
                         .threads = threads_per_worker(config_),
                         .seed = config_.seed,
                         .source = config_.init,
                         .tick = [&] { parts_.status.set(run::WorkerState::unhurried); },
                         .note = [&](const std::string& line) { parts_.job.observer.note(line); }},
                        parts_.setup.data.train);
  } else if (!run::has_added_weights(parts_.plan.network, weights) &&
             std::ranges::any_of(parts_.plan.network.blocks, &plan::NetworkBlock::added)) {
    parts_.job.observer.note(config_.init +
                             " belongs to the serial network: the coarse parts start at random");
  }
  worker_.parameters().import_weights(weights, config_.init);
}

std::string Member::model_hash() const { return graph::model_hash(parts_.setup.model); }

void Member::check_resumed(const checkpoint::RunState& state, const std::string& source) const {
  const std::int64_t per_epoch = minibatches_.per_epoch();
  const auto model = state.extra.find("model_hash");
  if (state.seed != config_.seed || (model != state.extra.end() && model->second != model_hash())) {
    user_error("{} is of another {}; restore it, or start a new run", source,
               state.seed != config_.seed ? "seed" : "model than " + config_.model);
  }
  if (state.step != state.epoch * per_epoch + state.position / config_.batch) {
    user_error(
        "{} is at step {} of epoch {}, but epochs have {} steps now: `data` {} has another number "
        "of samples; restore it, or start a new run",
        source, state.step, state.epoch + 1, per_epoch, config_.data);
  }
  if (state.step > minibatches_.total_steps()) {
    user_error(
        "{} is at step {}, behind the end at step {}; omit `epochs` and `steps`, or give "
        "more",
        source, state.step, minibatches_.total_steps());
  }
}

void Member::restore() {
  TrainObserver& observer = parts_.job.observer;
  const auto checkpoint = parts_.folder->resume_point();
  if (!checkpoint) {
    observer.note("no checkpoint yet in " + parts_.folder->path().string() +
                  "; starting from step 0");
    return;
  }
  const std::string source = parts_.folder->latest_checkpoint_path();
  const checkpoint::RunState& state = checkpoint->state;
  check_resumed(state, source);
  worker_.parameters().import_weights(checkpoint->weights, source + "/weights.safetensors");
  worker_.parameters().import_optimizer(checkpoint->optimizer, source + "/optimizer.safetensors");
  progress_ = read_progress(state, config_.batch);
  epoch_losses_ = read_epoch_losses(state);
  residual_book_.read(state);
  observer.note(
      fmt::format("resumed from {} (epoch {}, step {})", source, state.epoch, state.step));
}

/// What worker 0 has read, to all members.
void Member::share() {
  transfer_.share(worker_.parameters());
  parts_.control.broadcast(std::as_writable_bytes(std::span(&progress_, 1)), 0);
  for (std::vector<double>* losses : {&epoch_losses_.train, &epoch_losses_.test}) {
    losses->resize(static_cast<std::size_t>(progress_.epoch));
    parts_.control.broadcast(std::as_writable_bytes(std::span(*losses)), 0);
  }
  residual_book_.share();
}

checkpoint::Checkpoint Member::checkpoint(std::optional<double> metric) {
  run::ParameterStore& parameters = worker_.parameters();
  checkpoint::Checkpoint checkpoint{.weights = parameters.export_weights(),
                                    .optimizer = parameters.export_optimizer(),
                                    .state = {}};
  TrainingProgress progress = progress_;
  if (progress.batch > 0) progress.epoch_seconds += times_.epoch();
  write_progress(progress, config_.batch, checkpoint.state);
  residual_book_.write(checkpoint.state);
  checkpoint.state.seed = config_.seed;
  checkpoint.state.metric = metric;
  checkpoint.state.extra["model_hash"] = model_hash();
  write_epoch_losses(epoch_losses_, checkpoint.state);
  checkpoint.state.config = parts_.job.config_text;
  return checkpoint;
}

void Member::save(std::optional<double> metric) {
  parts_.status.set(run::WorkerState::unhurried);
  transfer_.collect(worker_.parameters());
  residual_book_.gather();
  if (parts_.is_zero()) {
    if (const std::string name = worker_.parameters().non_finite_parameter(); !name.empty()) {
      user_error("'{}' is not finite after step {}; {}", name, progress_.step, divergence().hint());
    }
    if (parts_.folder->writes()) parts_.folder->save(checkpoint(metric));
  }
  saves_.saved(progress_.step);
  parts_.control.barrier();  // no member counts as stalled while worker 0 writes
  parts_.status.set(run::WorkerState::elsewhere);
}

Divergence Member::divergence() const {
  // Clipping by the norm needs all gradients on one worker.
  return {.plan = parts_.plan,
          .config = config_,
          .checkpoints = parts_.checkpoints,
          .can_clip = transfer_.replicated()};
}

}  // namespace plait::session
