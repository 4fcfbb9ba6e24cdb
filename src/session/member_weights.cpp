// Where a member's weights come from and go to: files, checkpoints, the other members.
#include <algorithm>

#include "base/error.hpp"
#include "session/fit.hpp"
#include "session/member.hpp"

namespace plait {

void Member::import_initial_weights() {
  std::vector<NamedTensor> weights = initial_weights(parts_.job, parts_.setup.model);
  if (config_.fit_coarse && !config_.resume) {
    parts_.status.set(WorkerState::unhurried);
    const Network network =
        parts_.job.planner->network_to_fit(parts_.setup.model, parts_.plan.machine);
    weights = fit_added(network, weights,
                        {.steps = config_.fit_steps,
                         .batch = config_.batch,
                         .threads = threads_per_worker(config_),
                         .seed = config_.seed,
                         .source = config_.init,
                         .tick = [&] { parts_.status.set(WorkerState::unhurried); },
                         .note = [&](const std::string& line) { parts_.job.observer.note(line); }},
                        parts_.setup.data.train);
  } else if (!has_added_weights(parts_.plan.network, weights) &&
             std::ranges::any_of(parts_.plan.network.blocks, &NetworkBlock::added)) {
    parts_.job.observer.note(config_.init +
                             " belongs to the serial network: the coarse parts start at random");
  }
  worker_.parameters().import_weights(weights, config_.init);
}

std::string Member::model_hash() const { return network_hash(make_network(parts_.setup.model)); }

void Member::restore() {
  TrainObserver& observer = parts_.job.observer;
  const auto checkpoint = parts_.folder->resume_point();
  if (!checkpoint) {
    observer.note("no checkpoint yet in " + parts_.folder->path().string() +
                  "; starting from step 0");
    return;
  }
  const std::string source = parts_.folder->latest_checkpoint_path();
  const RunState& state = checkpoint->state;
  const auto model = state.extra.find("model_hash");
  if (state.seed != config_.seed || (model != state.extra.end() && model->second != model_hash())) {
    user_error("{} is of another {}; restore it, or start a new run", source,
               state.seed != config_.seed ? "seed" : "model than " + config_.model);
  }
  if (state.step != state.epoch * per_epoch_ + state.position / config_.batch) {
    user_error(
        "{} is at step {} of epoch {}, but epochs have {} steps now: `data` {} has another number "
        "of samples; restore it, or start a new run",
        source, state.step, state.epoch + 1, per_epoch_, config_.data);
  }
  if (state.step > total_steps_) {
    user_error(
        "{} is at step {}, behind the end at step {}; omit `epochs` and `steps`, or give "
        "more",
        source, state.step, total_steps_);
  }
  worker_.parameters().import_weights(checkpoint->weights, source + "/weights.safetensors");
  worker_.parameters().import_optimizer(checkpoint->optimizer, source + "/optimizer.safetensors");
  progress_ = read_progress(state, config_.batch);
  epoch_losses_ = read_epoch_losses(state);
  residual_book_.read(state);
  saved_step_ = state.step;
  observer.note(
      fmt::format("resumed from {} (epoch {}, step {})", source, state.epoch, state.step));
}

/// From worker 0 to all who need them: parameters lie alike on every worker.
void Member::share_parameters() {
  Group& control = parts_.control;
  for (int worker = 1; worker < control.size(); ++worker) {
    if (!is_zero() && control.rank() != worker) continue;
    const std::vector<BlockNeeds> needs = block_needs(parts_.plan, worker);
    for (std::size_t i = 0; i < needs.size(); ++i) {
      BlockMemory& block = worker_.parameters().block(i);
      const auto pass = [&](Tensor& tensor, bool needed) {
        if (!needed || tensor.empty()) return;
        const auto bytes = std::as_writable_bytes(tensor.floats());
        (is_zero() ? control.isend(bytes, worker, 4) : control.irecv(bytes, 0, 4)).wait();
      };
      pass(block.weights, needs[i].weights);
      pass(block.state, needs[i].weights);
      for (Tensor& tensor : block.optimizer) pass(tensor, needs[i].optimizer);
    }
  }
  control.broadcast(std::as_writable_bytes(std::span(&progress_, 1)), 0);
  control.broadcast(std::as_writable_bytes(std::span(&saved_step_, 1)), 0);
  epoch_losses_.resize(static_cast<std::size_t>(progress_.epoch));
  control.broadcast(std::as_writable_bytes(std::span(epoch_losses_)), 0);
  residual_book_.share();
}

/// To worker 0: the blocks that others update.
void Member::collect_parameters() {
  Group& control = parts_.control;
  for (std::size_t i = 0; i < worker_.parameters().size(); ++i) {
    const auto fetch = [&](int owner, Tensor& tensor) {
      if (owner <= 0 || (control.rank() != 0 && control.rank() != owner) || tensor.empty()) return;
      const auto bytes = std::as_writable_bytes(tensor.floats());
      (control.rank() == 0 ? control.irecv(bytes, owner, 3) : control.isend(bytes, 0, 3)).wait();
    };
    BlockMemory& block = worker_.parameters().block(i);
    fetch(owners_[i], block.weights);
    fetch(state_owners_[i], block.state);
    for (Tensor& tensor : block.optimizer) fetch(owners_[i], tensor);
  }
}

void Member::save(std::optional<double> metric) {
  parts_.status.set(WorkerState::unhurried);
  collect_parameters();
  residual_book_.gather();
  saved_step_ = progress_.step;
  if (is_zero()) {
    ParameterStore& parameters = worker_.parameters();
    if (const std::string name = parameters.non_finite_parameter(); !name.empty()) {
      user_error("'{}' is not finite after step {}; {}; {}", name, progress_.step, last_good(),
                 advice());
    }
    if (parts_.folder->writes()) {
      Checkpoint checkpoint{.weights = parameters.export_weights(),
                            .optimizer = parameters.export_optimizer(),
                            .state = {}};
      TrainingProgress progress = progress_;
      if (progress.batch > 0) progress.epoch_seconds += epoch_watch_.seconds();
      write_progress(progress, config_.batch, checkpoint.state);
      residual_book_.write(checkpoint.state);
      checkpoint.state.seed = config_.seed;
      checkpoint.state.metric = metric;
      checkpoint.state.extra["model_hash"] = model_hash();
      write_epoch_losses(epoch_losses_, checkpoint.state);
      checkpoint.state.config = parts_.job.config_text;
      parts_.folder->save(checkpoint);
    }
    saved_watch_ = Stopwatch();
  }
  parts_.control.barrier();  // nobody counts as stalled while worker 0 writes
  parts_.status.set(WorkerState::elsewhere);
}

/// An outer optimizer multiplies the learning rate: it is looked at first. Plain averaging is rate
/// 1 without momentum.
std::string Member::outer_advice() const {
  for (const Bucket& bucket : parts_.plan.buckets) {
    if (bucket.payload != Payload::weights || bucket.merge.kind != MergeKind::outer) continue;
    const Merge& merge = bucket.merge;
    if (merge.momentum == 0 && merge.rate <= 1) break;
    return fmt::format(
        "`outer_lr` {} with `outer_momentum` {} may be too much for `local_steps` {}: try {}, "
        "or else ",
        merge.rate, merge.momentum, config_.local_steps,
        merge.rate <= 1 && merge.momentum > 0.3 ? "`outer_momentum` 0.3"
                                                : "`outer_lr` 1 `outer_momentum` 0");
  }
  return "";
}

std::string Member::advice() const {
  // Who does not have all gradients cannot clip them by their norm.
  const std::string inside =
      everybody_has_all_ ? "try a smaller `lr` or `clip_norm` 1" : "try a smaller `lr`";
  return outer_advice() + inside;
}

std::string Member::last_good() const {
  if (!parts_.checkpoints.empty()) {
    const CheckpointStore store{std::filesystem::path(parts_.checkpoints)};
    if (const auto latest = store.latest()) {
      return "the last good checkpoint is " + store.path_of(latest->folder).string();
    }
  }
  return "no checkpoint was written yet";
}

}  // namespace plait
