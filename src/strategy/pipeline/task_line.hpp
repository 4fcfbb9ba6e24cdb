// TaskLine: the tasks of a network in the order F1 D1 G1 F2 D2 G2 ..., with what each costs and
// what a cut between two of them sends over the link. Cuts of this line are LayerPipe's pieces.
#pragma once

#include <cstdint>
#include <vector>

#include "strategy/strategy.hpp"

namespace plait::strategy::pipeline {

/// A place between two tasks. `part` 0: before forward of `block`. Above 0: behind it, with
/// backward_data of part - 1 of the microbatches on the left, the rest of them and
/// backward_weights on the right.
struct Cut {
  int block = 0;
  int part = 0;
  bool at_border() const { return part == 0; }
  bool operator==(const Cut&) const = default;
};

/// Seconds of a block for a whole minibatch, in microbatches.
struct BlockLoad {
  double forward = 0;
  double backward_data = 0;
  double backward_weights = 0;  ///< with the update
};

class TaskLine {
 public:
  /// The request has a cost model.
  TaskLine(const PlanRequest& request, CutPlaces places);

  int microbatches() const { return microbatches_; }
  int blocks() const { return static_cast<int>(loads_.size()); }
  const BlockLoad& load(int block) const { return loads_[static_cast<std::size_t>(block)]; }

  /// All possible cuts from the beginning to the end, both included, in order.
  const std::vector<Cut>& cuts() const { return cuts_; }
  /// Seconds of everything before a cut, by its number.
  double before(std::size_t cut) const { return before_[cut]; }
  /// Bytes that cross a cut for one minibatch, both ways.
  double bytes(std::size_t cut) const { return bytes_[cut]; }
  double seconds_per_byte() const { return seconds_per_byte_; }
  /// Bytes of all weights before a cut.
  double weight_bytes_before(std::size_t cut) const { return weights_[cut]; }
  double total() const { return before_.back(); }

 private:
  void add(const Cut& cut, double seconds, double bytes, double weights);
  class Crossings;
  double inner_bytes(const plan::Network& network, const Crossings& crossings, int index,
                     double left) const;

  int microbatches_ = 1;
  double batch_ = 1;
  std::vector<BlockLoad> loads_;
  std::vector<Cut> cuts_;
  std::vector<double> before_;
  std::vector<double> bytes_;
  std::vector<double> weights_;
  double seconds_per_byte_ = 0;
};

/// Whether backward_data of this microbatch is on the left of a cut with `left` of `of` there. The
/// ones on the left are spread evenly.
constexpr bool is_left(int microbatch, int left, int of) {
  return std::int64_t{microbatch + 1} * left / of > std::int64_t{microbatch} * left / of;
}

/// Pieces of the line, in order; the workers are numbered along it.
struct Stage {
  Cut begin{};
  Cut end{};
  int replicas = 1;  ///< microbatches go round
  bool operator==(const Stage&) const = default;
};

/// The pieces for `workers` workers whose slowest takes the least time, bytes included; empty where
/// there are more workers than pieces can be made. `replicate`: pieces from border to border may
/// have several workers. `even`: of all cuts as good, the one whose other pieces are most alike.
std::vector<Stage> balance(const TaskLine& line, int workers, bool replicate, bool even = true);

/// Seconds per minibatch of the busiest worker: no schedule of these pieces is faster.
double busiest(const TaskLine& line, const std::vector<Stage>& stages);

}  // namespace plait::strategy::pipeline
