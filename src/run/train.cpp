#include "run/train.hpp"

#include <algorithm>
#include <cmath>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/hash.hpp"
#include "base/memory.hpp"
#include "data/prefetch.hpp"
#include "model/model_file.hpp"
#include "model/parameters.hpp"
#include "run/evaluate.hpp"
#include "run/run_folder.hpp"
#include "run/serial_step.hpp"
#include "run/setup.hpp"

namespace plait {

namespace {

/// What the loop must remember across a restart beside weights and optimizer.
struct Progress {
  std::int64_t step = 0;       ///< updates done
  std::int64_t epoch = 0;      ///< epochs done
  std::int64_t batch = 0;      ///< batches done in the current epoch
  double epoch_loss = 0;       ///< sum over the samples of the current epoch
  double last_train_loss = 0;  ///< mean of the last finished epoch
  double best_metric = -INFINITY;
  std::int64_t epochs_since_best = 0;
};

/// Bits of a double as text and back.
std::string exact(double value) { return fmt::format("{:a}", value); }
double exact(const std::map<std::string, std::string>& extra, const char* key, double otherwise) {
  const auto found = extra.find(key);
  return found == extra.end() ? otherwise : std::strtod(found->second.c_str(), nullptr);
}

class Training {
 public:
  Training(const TrainConfig& config, const std::string& config_text, TrainObserver& observer,
           const std::atomic<bool>* interrupt)
      : config_(config),
        config_text_(config_text),
        observer_(observer),
        interrupt_(interrupt),
        setup_(make_setup(config)),
        chain_(make_chain(config, setup_)),
        optimizer_(make_optimizer(optimizer_spec(config))),
        parameters_(*chain_, config.seed, optimizer_->state_count()),
        step_(*chain_, parameters_, loss_spec(config)),
        evaluator_(*chain_, setup_.data.test, loss_spec(config)),
        stream_(std::make_shared<BatchStream>(
            setup_.data.train, BatchOptions{.batch = config.batch, .seed = config.seed})) {
    per_epoch_ = stream_->batches_per_epoch();
    total_steps_ = config.steps > 0 ? config.steps : config.epochs * per_epoch_;
    schedule_ = schedule_spec(config, per_epoch_, total_steps_);
    check_schedule(schedule_);
    if (!config.init.empty()) {
      parameters_.import_weights(read_safetensors(config.init).tensors, config.init);
    }
    folder_.emplace(config, config_text);
  }

  TrainResult run() {
    if (config_.resume) resume();
    folder_->open_metrics(progress_.step);
    observer_.begin(headline());
    Prefetch prefetch(
        stream_, {.epoch = static_cast<std::uint64_t>(progress_.epoch), .index = progress_.batch});
    const std::int64_t first_step = progress_.step;
    Batch batch;
    epoch_watch_ = saved_watch_ = Stopwatch();
    while (progress_.step < total_steps_ && !stopped_early() && !interrupted()) {
      {
        const Stopwatch waiting;
        prefetch.next(batch);
        load_seconds_ += waiting.seconds();
      }
      one_step(batch);
      if (progress_.batch == per_epoch_)
        finish_epoch();
      else if (checkpoint_due())
        save();
    }
    if (progress_.step > saved_step_) {
      if (!interrupted()) evaluate();
      save();
    }
    if (!evaluation_ && !interrupted()) evaluate();
    return result(first_step);
  }

 private:
  bool interrupted() const { return interrupt_ != nullptr && interrupt_->load(); }

  bool stopped_early() const {
    return config_.early_stop > 0 && progress_.epochs_since_best >= config_.early_stop;
  }

  bool checkpoint_due() const {
    if (!folder_->writes()) return false;
    const bool by_steps =
        config_.checkpoint_every > 0 && progress_.step % config_.checkpoint_every == 0;
    const bool by_time =
        config_.checkpoint_minutes > 0 && saved_watch_.seconds() > config_.checkpoint_minutes * 60;
    return by_steps || by_time;
  }

  std::string headline() const {
    const std::int64_t parameters = parameter_count(chain_->model());
    return fmt::format(
        "{} ({} parameters) on {} ({} train, {} test), batch {}, {} step(s), {} thread(s)",
        config_.model, parameters, config_.data, setup_.data.train->size(),
        setup_.data.test->size(), config_.batch, total_steps_, chain_->options().threads);
  }

  void one_step(const Batch& batch) {
    const Stopwatch watch;
    const double rate = learning_rate(schedule_, progress_.step);
    const Randomness randomness{.seed = config_.seed,
                                .step = static_cast<std::uint64_t>(progress_.step),
                                .first_sample = 0};
    const LossResult loss = step_.gradients(batch, randomness);
    if (!std::isfinite(loss.sum)) stop_on_non_finite(batch, randomness, loss);
    step_.update({.optimizer = *optimizer_,
                  .learning_rate = rate,
                  .weight_decay = config_.weight_decay,
                  .clip_norm = config_.clip_norm,
                  .step = progress_.step + 1});
    ++progress_.step;
    ++progress_.batch;
    progress_.epoch_loss += loss.sum;
    evaluation_.reset();
    observer_.step({.step = progress_.step,
                    .total_steps = total_steps_,
                    .epoch = progress_.epoch + 1,
                    .loss = loss.sum / static_cast<double>(batch.size()),
                    .learning_rate = rate,
                    .images_per_second = static_cast<double>(batch.size()) / watch.seconds()});
  }

  [[noreturn]] void stop_on_non_finite(const Batch& batch, const Randomness& randomness,
                                       const LossResult& loss) {
    const std::string block = step_.first_non_finite_block(batch, randomness);
    user_error(
        "loss is {} at step {}; block '{}' is the first whose result is not finite; {}; "
        "try a smaller --lr or --clip-norm 1",
        loss.sum, progress_.step + 1, block.empty() ? "loss" : block, last_good());
  }

  void evaluate() {
    evaluation_ = evaluator_.run(parameters_);
    if (!std::isfinite(evaluation_->loss)) {
      user_error("the test loss is {} after step {}; {}; try a smaller --lr or --clip-norm 1",
                 evaluation_->loss, progress_.step, last_good());
    }
  }

  std::string last_good() const {
    const std::string kept = folder_->latest_checkpoint_path();
    return kept.empty() ? "no checkpoint was written yet" : "the last good checkpoint is " + kept;
  }

  /// The network itself, whatever file it came from, so that a changed file is noticed.
  std::string model_hash() const {
    Hash hash;
    hash.add(write_model(chain_->model()));
    return hash.hex();
  }

  void finish_epoch() {
    const auto samples = static_cast<double>(per_epoch_ * config_.batch);
    const double seconds = epoch_watch_.seconds();
    progress_.last_train_loss = progress_.epoch_loss / samples;
    progress_.epoch_loss = 0;
    progress_.batch = 0;
    ++progress_.epoch;
    evaluate();
    const double metric = evaluation_->accuracy.value_or(-evaluation_->loss);
    progress_.epochs_since_best =
        metric > progress_.best_metric ? 0 : progress_.epochs_since_best + 1;
    progress_.best_metric = std::max(progress_.best_metric, metric);
    const EpochReport report{.epoch = progress_.epoch,
                             .epochs = (total_steps_ + per_epoch_ - 1) / per_epoch_,
                             .step = progress_.step,
                             .train_loss = progress_.last_train_loss,
                             .test_loss = evaluation_->loss,
                             .test_accuracy = evaluation_->accuracy,
                             .learning_rate = learning_rate(schedule_, progress_.step - 1),
                             .seconds = seconds,
                             .images_per_second = samples / seconds};
    folder_->write(
        report);  // before the checkpoint: resuming drops what came after one, never adds
    save(metric);
    observer_.epoch(report);
    if (stopped_early() && progress_.step < total_steps_) {
      observer_.note(fmt::format("early stop: no improvement for {} epoch(s)", config_.early_stop));
    }
    epoch_watch_ = Stopwatch();
  }

  void save(std::optional<double> metric = std::nullopt) {
    if (const std::string name = parameters_.non_finite_parameter(); !name.empty()) {
      user_error("'{}' is not finite after step {}; {}; try a smaller --lr or --clip-norm 1", name,
                 progress_.step, last_good());
    }
    if (!folder_->writes()) return;
    Checkpoint checkpoint{.weights = parameters_.export_weights(),
                          .optimizer = parameters_.export_optimizer(),
                          .state = {}};
    checkpoint.state.step = progress_.step;
    checkpoint.state.epoch = progress_.epoch;
    checkpoint.state.position = progress_.batch * config_.batch;
    checkpoint.state.seed = config_.seed;
    checkpoint.state.metric = metric;
    if (std::isfinite(progress_.best_metric)) checkpoint.state.best_metric = progress_.best_metric;
    checkpoint.state.extra = {{"epoch_loss", exact(progress_.epoch_loss)},
                              {"last_train_loss", exact(progress_.last_train_loss)},
                              {"best_metric", exact(progress_.best_metric)},
                              {"epochs_since_best", exact(double(progress_.epochs_since_best))}};
    checkpoint.state.extra["model_hash"] = model_hash();
    checkpoint.state.config = config_text_;
    folder_->save(checkpoint);
    saved_step_ = progress_.step;
    saved_watch_ = Stopwatch();
  }

  void resume() {
    const auto checkpoint = folder_->resume_point();
    if (!checkpoint) {
      observer_.note("no checkpoint yet in " + folder_->path().string() + "; starting from step 0");
      return;
    }
    const std::string source = folder_->latest_checkpoint_path();
    const auto model = checkpoint->state.extra.find("model_hash");
    if (checkpoint->state.seed != config_.seed ||
        (model != checkpoint->state.extra.end() && model->second != model_hash())) {
      user_error("{} is of another {}; bring it back, or begin a new run", source,
                 checkpoint->state.seed != config_.seed ? "seed" : "model than " + config_.model);
    }
    parameters_.import_weights(checkpoint->weights, source + "/weights.safetensors");
    parameters_.import_optimizer(checkpoint->optimizer, source + "/optimizer.safetensors");
    const RunState& state = checkpoint->state;
    progress_ = {
        .step = state.step,
        .epoch = state.epoch,
        .batch = state.position / config_.batch,
        .epoch_loss = exact(state.extra, "epoch_loss", 0),
        .last_train_loss = exact(state.extra, "last_train_loss", 0),
        .best_metric = exact(state.extra, "best_metric", -INFINITY),
        .epochs_since_best = static_cast<std::int64_t>(exact(state.extra, "epochs_since_best", 0))};
    saved_step_ = state.step;
    observer_.note(
        fmt::format("resumed from {} (epoch {}, step {})", source, state.epoch, state.step));
  }

  TrainResult result(std::int64_t first_step) {
    const double seconds = watch_.seconds();
    const double samples_in_epoch = static_cast<double>(progress_.batch * config_.batch);
    const double training = step_.seconds().total() + load_seconds_;
    const double images = static_cast<double>((progress_.step - first_step) * config_.batch);
    return {.model = config_.model,
            .strategy = config_.strategy,
            .workers = 1,
            .epochs = progress_.epoch,
            .steps = progress_.step,
            .train_loss = progress_.batch == 0 ? progress_.last_train_loss
                                               : progress_.epoch_loss / samples_in_epoch,
            .test_loss = evaluation_ ? evaluation_->loss : std::nan(""),
            .test_accuracy = evaluation_ ? evaluation_->accuracy : std::nullopt,
            .seconds = seconds,
            .images_per_second = training > 0 ? images / training : 0,
            .bytes_sent = 0,
            .messages_sent = 0,
            .peak_memory_bytes = peak_memory_bytes(),
            .weights_hash = parameters_.hash(),
            .staleness_max = 0,
            .utilisation = training > 0 ? step_.seconds().total() / training : 0,
            .run_dir = folder_->writes() ? folder_->path().string() : "",
            .interrupted = interrupted()};
  }

  const TrainConfig& config_;
  const std::string& config_text_;
  TrainObserver& observer_;
  const std::atomic<bool>* interrupt_;
  Stopwatch watch_;
  Setup setup_;
  std::unique_ptr<Chain> chain_;
  std::unique_ptr<Optimizer> optimizer_;
  ParameterStore parameters_;
  SerialStep step_;
  Evaluator evaluator_;
  std::shared_ptr<const BatchStream> stream_;
  ScheduleSpec schedule_;
  std::optional<RunFolder> folder_;
  Progress progress_;
  std::optional<Evaluation> evaluation_;
  std::int64_t per_epoch_ = 0;
  std::int64_t total_steps_ = 0;
  std::int64_t saved_step_ = 0;
  double load_seconds_ = 0;
  Stopwatch epoch_watch_;
  Stopwatch saved_watch_;
};

}  // namespace

TrainResult train(const TrainConfig& config, const std::string& config_text,
                  TrainObserver& observer, const std::atomic<bool>* interrupt) {
  check_config(config);
  return Training(config, config_text, observer, interrupt).run();
}

}  // namespace plait
