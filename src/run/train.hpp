// The training loop: batches through a chain on one worker, updates, evaluation, checkpoints. Its
// only way to the outside while it runs is a TrainObserver, which it tells and never asks.
#pragma once

#include <atomic>
#include <optional>
#include <string>

#include "run/config.hpp"

namespace plait {

struct StepReport {
  std::int64_t step = 0;  ///< updates done, this one included
  std::int64_t total_steps = 0;
  std::int64_t epoch = 0;  ///< 1-based
  double loss = 0;         ///< of this batch
  double learning_rate = 0;
  double images_per_second = 0;
};

struct EpochReport {
  std::int64_t epoch = 0;
  std::int64_t epochs = 0;
  std::int64_t step = 0;
  double train_loss = 0;
  double test_loss = 0;
  std::optional<double> test_accuracy;  ///< none for regression
  double learning_rate = 0;
  double seconds = 0;
  double images_per_second = 0;
};

class TrainObserver {
 public:
  virtual ~TrainObserver() = default;
  virtual void begin(const std::string& headline) { (void)headline; }
  virtual void step(const StepReport& report) { (void)report; }
  virtual void epoch(const EpochReport& report) { (void)report; }
  virtual void note(const std::string& line) { (void)line; }
};

struct TrainResult {
  std::string model;
  std::string strategy;
  std::int64_t workers = 1;
  std::int64_t epochs = 0;
  std::int64_t steps = 0;
  double train_loss = 0;
  double test_loss = 0;  ///< NaN where an interrupted run did not evaluate
  std::optional<double> test_accuracy;
  double seconds = 0;
  double images_per_second = 0;
  std::int64_t bytes_sent = 0;
  std::int64_t messages_sent = 0;
  std::int64_t peak_memory_bytes = 0;
  std::string weights_hash;
  std::int64_t staleness_max = 0;
  double utilisation = 0;  ///< share of the wall time spent in tasks
  std::string run_dir;     ///< "" when nothing was written
  bool interrupted = false;
};

/// `config_text` is kept in the run folder as config.toml. `interrupt`, when it becomes true, ends
/// the run after the step under way, with a checkpoint.
TrainResult train(const TrainConfig& config, const std::string& config_text,
                  TrainObserver& observer, const std::atomic<bool>* interrupt = nullptr);

}  // namespace plait
