// HeldPieces: how many pieces every worker holds during a play, each of one microbatch: from the
// begin of its forward to the end of its last task.
#pragma once

#include <vector>

#include "strategy/pipeline/jobs.hpp"

namespace plait::strategy::pipeline {

class HeldPieces {
 public:
  /// `pieces`: by block, its piece; empty: nothing is counted. `limit`: per worker.
  HeldPieces(const lower::Graph& graph, std::vector<int> pieces, std::vector<int> limit,
             int minibatches);

  /// Whether forward may begin here. The last place of a worker is kept for microbatches that it
  /// has begun already on another piece: theirs come to an end.
  bool may_begin(const Job& job, std::int64_t microbatch, bool has_begun_here) const;
  void note_begin(const Job& job, std::int64_t microbatch);
  void note_end(const Job& job, std::int64_t microbatch);

 private:
  struct Unit {
    int left = 0;  ///< tasks to come
    bool begun = false;
  };
  bool counts(const Job& job) const;
  std::size_t index_of(const Job& job, std::int64_t microbatch) const {
    const auto piece =
        static_cast<std::size_t>(pieces_[static_cast<std::size_t>(plan::block_of(job.task))]);
    return piece * microbatches_ + static_cast<std::size_t>(microbatch);
  }

  std::vector<int> pieces_;
  std::vector<int> limit_;
  std::size_t microbatches_;  ///< of all minibatches
  std::vector<Unit> units_;   ///< by piece and microbatch
  std::vector<int> held_;     ///< by worker
};

}  // namespace plait::strategy::pipeline
