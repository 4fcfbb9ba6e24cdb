// Training: a plan played on real data by all its workers, with evaluation and checkpoints. Its
// only way to the outside while it runs is a TrainObserver, which it tells and never asks.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "plan/plan.hpp"
#include "planner/planner.hpp"
#include "run/worker.hpp"
#include "session/config.hpp"
#include "session/run_planner.hpp"
#include "trace/trace.hpp"
#include "transport/mpi.hpp"

namespace plait::session {

struct StepReport {
  std::int64_t step = 0;  ///< updates done, this one included
  std::int64_t total_steps = 0;
  std::int64_t epoch = 0;  ///< 1-based
  double loss = 0;         ///< of this minibatch, all workers
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
  std::optional<double> test_top5{};    ///< of more than 5 classes
  std::optional<double> test_miou{};    ///< where pixels have labels
  double learning_rate = 0;
  double seconds = 0;
  double images_per_second = 0;
  std::vector<run::Residual> residuals{};  ///< of the epoch's training steps
  std::string mode{};                      ///< of the plan; "" where there is one
};

/// Before the first step: what will be played.
struct PlanReport {
  const plan::Plan& plan;
  const graph::ModelSpec& model;
  RunPlanner& planner;  ///< has the costs the plan was made with
};

/// After an epoch: what all workers did in its last steps.
struct TimelineReport {
  const plan::Plan& plan;
  const trace::Trace& trace;
  const std::string& run_dir;  ///< "" when nothing is written
};

/// The exit code of a job that has lost workers: a worker or its node died, or nothing moved for
/// long. The same command with --resume may well succeed; EX_TEMPFAIL of sysexits.h.
constexpr int kLostWorkers = 75;

class TrainObserver {
 public:
  virtual ~TrainObserver() = default;
  /// In every process of an MPI job. UserError ends the job before it begins.
  virtual void planned(const PlanReport& report) { (void)report; }
  virtual void begin(const std::string& headline) { (void)headline; }
  virtual void step(const StepReport& report) { (void)report; }
  virtual void epoch(const EpochReport& report) { (void)report; }
  virtual void timeline(const TimelineReport& report) { (void)report; }
  virtual void note(const std::string& line) { (void)line; }
  /// The job ends at once after this line: a worker died or nothing moves.
  virtual void fatal(const std::string& line) { (void)line; }
};

struct TrainResult {
  std::string model;
  std::string strategy;
  std::int64_t workers = 1;
  int threads = 1;  ///< of each worker
  std::int64_t epochs = 0;
  std::int64_t steps = 0;
  std::int64_t new_steps = 0;  ///< of them, since it was started or resumed
  double train_loss = 0;
  double test_loss = 0;  ///< NaN where an interrupted run did not evaluate
  std::optional<double> test_accuracy;
  std::optional<double> test_top5{};
  std::optional<double> test_miou{};
  double seconds = 0;
  double images_per_second = 0;
  double step_seconds = 0;  ///< median over the steps
  std::int64_t bytes_sent = 0;
  std::int64_t messages_sent = 0;
  std::int64_t peak_memory_bytes = 0;  ///< of the largest process
  /// Of exchanges that are merged some steps later, means over the workers.
  std::int64_t exchanges = 0;
  double exchange_seconds = 0;         ///< under way
  double exchange_waited_seconds = 0;  ///< not hidden behind compute
  std::string weights_hash;
  std::int64_t staleness_max = 0;
  double utilisation = 0;  ///< share of the steps' time spent computing, mean of the workers
  std::vector<trace::Shares> shares;     ///< per worker
  std::vector<std::int64_t> memory;      ///< per worker: bytes of its tensors and weights
  std::vector<run::Residual> residuals;  ///< of the last epoch, or of what came after it
  std::string run_dir;                   ///< "" when nothing was written
  bool interrupted = false;
  plan::Plan plan;
  trace::Trace trace;  ///< of the last config.trace_steps steps
};

/// The weights of a file, under the names of the model.
using WeightsReader = std::function<std::vector<checkpoint::NamedTensor>(
    const std::string& file, const graph::ModelSpec& model)>;

struct TrainJob {
  TrainConfig config;
  std::string config_text;                ///< kept in the run folder as config.toml
  std::shared_ptr<RunPlanner> planner{};  ///< brings the plan; null: settle() makes it
  TrainObserver& observer;
  /// When it becomes true, the run ends after the step under way, with a checkpoint.
  const std::atomic<bool>* interrupt = nullptr;
  transport::MpiWorld* mpi = nullptr;  ///< null: workers are threads of this process
  run::TaskHook hook{};
  WeightsReader read_weights{};  ///< of config.init; null: a .safetensors file as plait writes it
};

/// The machine as MPI found it. UserError where the config says another.
plan::Machine machine_of(const TrainConfig& config, transport::Group& group);

/// Of config.init.
std::vector<checkpoint::NamedTensor> initial_weights(const TrainJob& job,
                                                     const graph::ModelSpec& model);

/// Under MPI every process calls it; the result is rank 0's, the others get an empty one.
TrainResult train(const TrainJob& given);

}  // namespace plait::session
