// Residuals of a run: what the workers' differences add up to since an epoch began, and how that
// lies in a checkpoint, so that an epoch in two parts has the residuals of one that was not cut.
#pragma once

#include <vector>

#include "checkpoint/state.hpp"
#include "run/residual.hpp"
#include "run/worker.hpp"
#include "transport/group.hpp"

namespace plait::session {

class ResidualBook {
 public:
  /// All outlive the book.
  ResidualBook(const plan::Network& network, transport::Group& control, run::Worker& worker);

  /// On every member: residuals of all workers since the last call; those of the last call where
  /// nothing was computed since.
  std::vector<run::Residual> take();
  /// On every member, before a checkpoint is written: worker 0 gets what write() needs.
  void gather();
  void write(checkpoint::RunState& state) const;
  /// Worker 0, before share().
  void read(const checkpoint::RunState& state);
  /// On every member after a resume: each gets its own sums back. Where the number of workers is
  /// another one, worker 0 has those of all.
  void share();

 private:
  /// Of a block, by one worker since the epoch began; worker -1: by all, in the epoch before.
  struct Entry {
    int worker = -1;
    int block = 0;
    run::ResidualSums sums;
  };
  std::vector<run::ResidualSums> all_sums();

  const plan::Network& network_;
  transport::Group& control_;
  run::Worker& worker_;
  bool any_ = false;  ///< the network has differences
  std::vector<run::ResidualSums> last_;
  std::vector<Entry> entries_;  ///< worker 0
  int workers_ = 0;             ///< whose entries these are
};

}  // namespace plait::session
