// TrainingProgress: what the training loop must remember across a restart beside weights and
// optimizer, and how it lies in a checkpoint. Equal on all workers but for the losses, which only
// worker 0 adds up.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "checkpoint/state.hpp"

namespace plait::session {

struct TrainingProgress {
  std::int64_t step = 0;       ///< updates done
  std::int64_t epoch = 0;      ///< epochs done
  std::int64_t batch = 0;      ///< batches done in the current epoch
  double epoch_loss = 0;       ///< sum over the samples of the current epoch
  double epoch_seconds = 0;    ///< that the current epoch has taken before a resume
  double last_train_loss = 0;  ///< mean of the last finished epoch
  double best_metric = -INFINITY;
  std::int64_t epochs_since_best = 0;
};

/// `batch_size`: samples per update, to turn batches into a position.
void write_progress(const TrainingProgress& progress, std::int64_t batch_size,
                    checkpoint::RunState& state);
/// Of all finished epochs.
struct EpochLosses {
  std::vector<double> train{};
  std::vector<double> test{};
};
/// Exactly. Those that older checkpoints do not know are read as 0.
void write_epoch_losses(const EpochLosses& losses, checkpoint::RunState& state);
EpochLosses read_epoch_losses(const checkpoint::RunState& state);
TrainingProgress read_progress(const checkpoint::RunState& state, std::int64_t batch_size);

}  // namespace plait::session
