// A training that would normalise over a single value per channel is refused before it begins, as
// PyTorch does: such a value minus its mean is 0, so nothing of the input is left.
#pragma once

#include "plan/plan.hpp"
#include "session/config.hpp"

namespace plait::session {

/// UserError with the block, the arithmetic of the samples and what to do. `train_samples`: of an
/// epoch, which decides the size of its last minibatch.
void check_batch_norms(const plan::Plan& plan, const TrainConfig& config,
                       std::int64_t train_samples);

}  // namespace plait::session
