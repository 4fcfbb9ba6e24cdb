// ParameterTransfer: which workers hold and update the parameters of a plan, and their way to
// worker 0 (evaluation, checkpoints) and back (initial weights, a resumed run).
#pragma once

#include <vector>

#include "plan/plan.hpp"
#include "run/parameters.hpp"
#include "transport/group.hpp"

namespace plait::session {

class ParameterTransfer {
 public:
  /// Both outlive the transfer.
  ParameterTransfer(const plan::Plan& plan, transport::Group& control);

  /// Every worker holds every block, with current running statistics: each can evaluate.
  bool replicated() const { return replicated_; }

  /// On every member: from worker 0 to all who need them. Parameters lie alike on every worker.
  void share(run::ParameterStore& parameters);
  /// On every member: to worker 0, the blocks that others update.
  void collect(run::ParameterStore& parameters);

 private:
  const plan::Plan& plan_;
  transport::Group& control_;
  bool replicated_;
  std::vector<int> owners_;        ///< per block: of weights and optimizer arrays
  std::vector<int> state_owners_;  ///< per block: of running statistics
};

}  // namespace plait::session
