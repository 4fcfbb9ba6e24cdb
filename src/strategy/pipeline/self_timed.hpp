// Self-timed play of jobs: every worker takes, whenever it is free, the most urgent job that is
// ready. What comes out is frozen into programs, so a run does not depend on who is faster.
#pragma once

#include "strategy/pipeline/jobs.hpp"

namespace plait::strategy::pipeline {

enum class Urgency {
  backward_first,  ///< backward_data > forward > backward_weights
  weights_last,    ///< forward > backward_data > backward_weights
  fused,           ///< backward_weights at once after its backward_data; backward > forward
  forward_first,   ///< fused, but forward > backward
  in_turn,         ///< fused; up to the limit forwards, then one backward, one forward, ...
  all_forwards,    ///< fused; no backward before the minibatch's last forward
};

struct SelfTimedOptions {
  Urgency urgency = Urgency::backward_first;
  /// Per worker: microbatches that have begun there and not ended.
  std::vector<int> in_flight{};
  /// The same, but backward_weights may still be to come; empty: no limit.
  std::vector<int> open{};
  /// Per worker: pieces that it holds, each of one microbatch, with `pieces` by block
  /// (held_pieces.hpp). Empty: no limit.
  std::vector<int> held{};
  std::vector<int> pieces{};
  /// No backward begins while a microbatch's forward is not done on all blocks of the worker. Else
  /// a gradient that is early in the play is waited for in the middle of a forward when it is late.
  bool whole_forwards = false;
  int minibatches = 1;  ///< that follow each other without a barrier
  int sample = 0;       ///< the how many-th of the steady state is given
};

struct SelfTimed {
  /// By job, of one minibatch: the only one, or one of the steady state.
  std::vector<double> start{};
  /// Seconds from minibatch to minibatch in the steady state; of all where there is one only.
  double period = 0;
};

SelfTimed play(const lower::Graph& graph, const SelfTimedOptions& options);

}  // namespace plait::strategy::pipeline
