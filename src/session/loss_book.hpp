// LossBook: the losses of all workers on their way to worker 0, minibatch by minibatch. Small
// messages on the control group, which count as no traffic.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <vector>

#include "plan/plan.hpp"
#include "run/open_losses.hpp"
#include "transport/group.hpp"

namespace plait::session {

class LossBook {
 public:
  /// `control` outlives the book.
  LossBook(const plan::Plan& plan, transport::Group& control);

  /// After each step: what Worker::take_losses gave.
  void add(std::vector<run::MinibatchLoss> losses, std::int64_t step,
           const plan::MinibatchRange& range);
  /// Worker 0: sums in the order of the workers, of every minibatch that all have reported. With
  /// `wait`, of all that were added here.
  std::vector<run::MinibatchLoss> collect(bool wait);

 private:
  struct Line {
    run::MinibatchLoss own;
    std::vector<std::array<double, 2>> others;
    std::vector<transport::Request> requests;
  };
  struct Sent {
    std::array<double, 2> numbers{};
    transport::Request request;
  };
  void send(const run::MinibatchLoss& loss);
  void open(const run::MinibatchLoss& own);

  transport::Group& control_;
  std::vector<int> senders_;    ///< workers with a loss task, but for worker 0
  bool zero_has_loss_ = false;  ///< worker 0 has a loss task
  int offset_ = 0;              ///< of the loss tasks
  std::deque<Line> open_;
  std::deque<std::unique_ptr<Sent>> sent_;
};

}  // namespace plait::session
