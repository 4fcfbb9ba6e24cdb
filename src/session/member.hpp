// Member: one worker's side of a training run: the same loop on every worker, step by step through
// the plan, with evaluation and checkpoints between. Worker 0 also speaks and writes for all.
#pragma once

#include "base/clock.hpp"
#include "data/prefetch.hpp"
#include "run/evaluate.hpp"
#include "session/control.hpp"
#include "session/progress.hpp"
#include "session/residual_book.hpp"
#include "session/run_folder.hpp"
#include "session/setup.hpp"
#include "session/train.hpp"

namespace plait {

/// What a member is given; all of it outlives the member.
struct MemberParts {
  const TrainJob& job;
  const Setup& setup;
  const Plan& plan;
  Group& group;
  Group& control;
  WorkerStatus& status;
  WorkerTrace& trace;
  RunFolder* folder = nullptr;  ///< worker 0 only
  std::string checkpoints;      ///< where worker 0 writes them; "": nowhere
};

class Member {
 public:
  explicit Member(const MemberParts& parts);
  /// Complete on worker 0, but for plan and trace.
  TrainResult run();

 private:
  bool is_zero() const { return parts_.control.rank() == 0; }
  Minibatch minibatch(std::int64_t number) const;
  void start();
  void restore();
  std::string model_hash() const;
  void share_parameters();
  void collect_parameters();
  void play_to(std::int64_t last);
  void tell_of_late_checkpoint();
  void one_step(std::int64_t step, const MinibatchRange& range);
  void take_losses(bool wait);
  [[noreturn]] void stop_on_non_finite(const NonFiniteLoss& loss) const;
  std::string last_good() const;
  std::string outer_advice() const;
  std::string advice() const;
  void evaluate();
  void import_initial_weights();
  void finish_epoch();
  void show_timeline();
  /// For the epoch that begins; says so where it is another one.
  void choose_mode();
  void save(std::optional<double> metric = std::nullopt);
  bool stopped_early() const;
  bool checkpoint_due(const Word& word) const;
  Word decide() const;
  std::string headline() const;
  TrainResult result(std::int64_t first_step);

  MemberParts parts_;
  const TrainConfig& config_;
  std::shared_ptr<const BatchStream> stream_;
  MinibatchWeights weights_;
  std::int64_t per_epoch_ = 0;
  std::int64_t total_steps_ = 0;
  ScheduleSpec schedule_;
  std::optional<Prefetch> prefetch_;
  Worker worker_;
  std::optional<Chain> whole_;  ///< the model, where the plan's network is cut; on worker 0
  std::optional<Evaluator> evaluator_;
  bool everybody_has_all_ = true;  ///< every worker holds every block
  std::vector<int> owners_;
  std::vector<int> state_owners_;
  bool drains_ = false;  ///< minibatches of a range depend on where it began
  WordOfZero word_of_zero_;
  LossBook losses_;
  ResidualBook residual_book_;
  TrainingProgress progress_;
  std::optional<Evaluation> evaluation_;
  std::vector<Residual> residuals_;
  std::vector<double> epoch_losses_;  ///< of all epochs so far, on every worker
  int mode_ = -1;                     ///< of the plan; -1: not chosen yet
  std::int64_t saved_step_ = 0;
  bool stop_ = false;
  double play_seconds_ = 0;
  bool told_of_late_checkpoint_ = false;
  std::size_t steps_timed_ = 0;
  std::vector<double> step_seconds_;
  Stopwatch watch_;
  Stopwatch epoch_watch_;
  Stopwatch saved_watch_;
  Stopwatch reported_;
};

}  // namespace plait
