// What a run whose loss or weights are no longer finite tells its user: the last checkpoint from
// before, and settings to try.
#pragma once

#include <string>

#include "plan/plan.hpp"
#include "run/open_losses.hpp"
#include "session/config.hpp"

namespace plait::session {

struct Divergence {
  const plan::Plan& plan;
  const TrainConfig& config;
  const std::string& checkpoints;  ///< folder of them; "": none are written
  bool can_clip = true;            ///< every worker has all gradients

  /// "the last good checkpoint is DIR; try a smaller `lr`"
  std::string hint() const;
  /// UserError that names step, worker and block.
  [[noreturn]] void stop(const run::NonFiniteLoss& loss, int worker) const;
};

}  // namespace plait::session
