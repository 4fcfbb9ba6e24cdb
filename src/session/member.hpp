// Member: one worker's side of a training run: the same loop on every worker, step by step through
// the plan, with evaluation and checkpoints between. Worker 0 also reports and writes files.
#pragma once

#include "data/prefetch.hpp"
#include "session/checkpoint_schedule.hpp"
#include "session/control.hpp"
#include "session/divergence.hpp"
#include "session/epoch_modes.hpp"
#include "session/job_evaluation.hpp"
#include "session/loss_book.hpp"
#include "session/member_parts.hpp"
#include "session/minibatch_schedule.hpp"
#include "session/parameter_transfer.hpp"
#include "session/progress.hpp"
#include "session/residual_book.hpp"
#include "session/run_times.hpp"

namespace plait::session {

class Member {
 public:
  explicit Member(const MemberParts& parts);
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;
  /// Complete on worker 0, but for plan and trace.
  TrainResult run();

 private:
  // The loop (member.cpp).
  void start();
  void play_to(std::int64_t last);
  void one_step(std::int64_t step, const plan::MinibatchRange& range);
  void take_losses(bool wait);
  void note_late_checkpoint();
  Control decide() const;
  bool stopped_early() const;

  // The end of an epoch (member_epoch.cpp).
  void begin_epoch();
  void evaluate();
  void finish_epoch();
  double count_epoch();
  EpochReport report(double seconds);
  void show_timeline();

  // Weights from and to files (member_weights.cpp).
  void import_initial_weights();
  void restore();
  void check_resumed(const checkpoint::RunState& state, const std::string& source) const;
  void share();
  void save(std::optional<double> metric = std::nullopt);
  checkpoint::Checkpoint checkpoint(std::optional<double> metric);
  std::string model_hash() const;
  Divergence divergence() const;

  // What is said before and after (member_result.cpp).
  std::string headline() const;
  TrainResult result(std::int64_t first_step);

  MemberParts parts_;
  const TrainConfig& config_;
  MinibatchSchedule minibatches_;
  std::optional<data::Prefetch> prefetch_;
  run::Worker worker_;
  ParameterTransfer transfer_;
  JobEvaluation evaluation_;
  ControlBroadcast control_;
  LossBook losses_;
  ResidualBook residual_book_;
  TrainingProgress progress_;
  EpochLosses epoch_losses_;  ///< equal on all workers
  EpochModes modes_;
  CheckpointSchedule saves_;
  RunTimes times_;
  bool stop_ = false;
};

}  // namespace plait::session
