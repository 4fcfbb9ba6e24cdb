// Progress in a checkpoint's extra fields, doubles as hexadecimal text so that no bit is lost.
#include "session/progress.hpp"

#include <fmt/format.h>

#include <cstdlib>

namespace plait::session {

namespace {

/// Bits of a double as text and back.
std::string exact(double value) { return fmt::format("{:a}", value); }
double exact(const std::map<std::string, std::string>& extra, const char* key, double otherwise) {
  const auto found = extra.find(key);
  return found == extra.end() ? otherwise : std::strtod(found->second.c_str(), nullptr);
}

}  // namespace

void write_progress(const TrainingProgress& progress, std::int64_t batch_size,
                    checkpoint::RunState& state) {
  state.step = progress.step;
  state.epoch = progress.epoch;
  state.position = progress.batch * batch_size;
  if (std::isfinite(progress.best_metric)) state.best_metric = progress.best_metric;
  state.extra["epoch_loss"] = exact(progress.epoch_loss);
  state.extra["epoch_seconds"] = exact(progress.epoch_seconds);
  state.extra["last_train_loss"] = exact(progress.last_train_loss);
  state.extra["best_metric"] = exact(progress.best_metric);
  state.extra["epochs_since_best"] = exact(static_cast<double>(progress.epochs_since_best));
}

namespace {

std::string exact(const std::vector<double>& values) {
  std::string text;
  for (const double value : values) text += exact(value) + " ";
  return text;
}

std::vector<double> exact_list(const checkpoint::RunState& state, const char* key) {
  std::vector<double> values;
  const auto found = state.extra.find(key);
  if (found != state.extra.end()) {
    const char* at = found->second.c_str();
    for (char* end = nullptr;; at = end) {
      const double value = std::strtod(at, &end);
      if (end == at) break;
      values.push_back(value);
    }
  }
  values.resize(static_cast<std::size_t>(state.epoch));
  return values;
}

constexpr const char* kTrainLosses = "epoch_losses";
constexpr const char* kTestLosses = "epoch_test_losses";

}  // namespace

void write_epoch_losses(const EpochLosses& losses, checkpoint::RunState& state) {
  state.extra[kTrainLosses] = exact(losses.train);
  state.extra[kTestLosses] = exact(losses.test);
}

EpochLosses read_epoch_losses(const checkpoint::RunState& state) {
  return {.train = exact_list(state, kTrainLosses), .test = exact_list(state, kTestLosses)};
}

TrainingProgress read_progress(const checkpoint::RunState& state, std::int64_t batch_size) {
  return {
      .step = state.step,
      .epoch = state.epoch,
      .batch = state.position / batch_size,
      .epoch_loss = exact(state.extra, "epoch_loss", 0),
      .epoch_seconds = exact(state.extra, "epoch_seconds", 0),
      .last_train_loss = exact(state.extra, "last_train_loss", 0),
      .best_metric = exact(state.extra, "best_metric", -INFINITY),
      .epochs_since_best = static_cast<std::int64_t>(exact(state.extra, "epochs_since_best", 0))};
}

}  // namespace plait::session
