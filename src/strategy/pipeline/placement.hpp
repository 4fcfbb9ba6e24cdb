// Placement: which worker runs which task of which microbatch.
#pragma once

#include <array>

#include "strategy/pipeline/task_line.hpp"

namespace plait::strategy::pipeline {

enum class Pass3 : std::uint8_t { forward, backward_data, backward_weights };

class Placement {
 public:
  Placement(int blocks, int microbatches)
      : microbatches_(microbatches),
        workers_(static_cast<std::size_t>(blocks) * static_cast<std::size_t>(microbatches)) {}

  int microbatches() const { return microbatches_; }
  int worker(Pass3 pass, int block, int microbatch) const {
    return at(block, microbatch)[static_cast<std::size_t>(pass)];
  }
  void set(Pass3 pass, int block, int microbatch, int worker) {
    workers_[index(block, microbatch)][static_cast<std::size_t>(pass)] = worker;
  }

 private:
  std::size_t index(int block, int microbatch) const {
    return static_cast<std::size_t>(block) * static_cast<std::size_t>(microbatches_) +
           static_cast<std::size_t>(microbatch);
  }
  const std::array<int, 3>& at(int block, int microbatch) const {
    return workers_[index(block, microbatch)];
  }

  int microbatches_;
  std::vector<std::array<int, 3>> workers_;
};

/// Workers are numbered along the stages; replicas take the microbatches in turn. `owners`: per
/// stage, which then has no replicas, its worker instead.
Placement place(const std::vector<Stage>& stages, int blocks, int microbatches,
                const std::vector<int>& owners = {});

}  // namespace plait::strategy::pipeline
