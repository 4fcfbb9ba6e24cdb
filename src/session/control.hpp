// What the members of a job tell each other beside the plan: worker 0's word before each step, and
// the losses on their way to worker 0. Small messages on a group of their own, never counted.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <vector>

#include "plan/plan.hpp"
#include "run/worker.hpp"

namespace plait {

/// What only worker 0 can know: the clock and the signals.
struct Word {
  bool stop = false;
  bool save = false;
};

/// The word for a step is sent one step ahead, so that nobody waits for it.
class WordOfZero {
 public:
  WordOfZero(Group& control, std::function<Word()> decide)
      : control_(control), decide_(std::move(decide)) {}
  /// Before each step, on every member: the word for it.
  Word next();
  /// After the last step, on every member: takes what is still under way.
  void finish();

 private:
  struct Letter {
    std::array<std::byte, 1> bits{};
    std::vector<Request> requests{};
  };
  void send(const Word& word);
  Word receive();

  Group& control_;
  std::function<Word()> decide_;
  Word ahead_{};  ///< worker 0: sent already
  bool first_ = true;
  std::deque<Letter> under_way_;  ///< a slow member takes its word later; nobody waits for that
};

/// Losses of all workers to worker 0, minibatch by minibatch.
class LossBook {
 public:
  LossBook(const Plan& plan, Group& control);

  /// After each step: what Worker::take_losses gave.
  void add(std::vector<MinibatchLoss> losses, std::int64_t step, const MinibatchRange& range);
  /// Worker 0: sums in the order of the workers, of every minibatch that all have reported. With
  /// `wait`, of all that were added here.
  std::vector<MinibatchLoss> collect(bool wait);

 private:
  struct Line {
    MinibatchLoss own;
    std::vector<std::array<double, 2>> others;
    std::vector<Request> requests;
  };
  struct Sent {
    std::array<double, 2> numbers{};
    Request request;
  };

  Group& control_;
  std::vector<int> speakers_;  ///< workers with a loss task, but for worker 0
  bool zero_speaks_ = false;
  int offset_ = 0;  ///< of the loss tasks
  std::deque<Line> open_;
  std::deque<std::unique_ptr<Sent>> sent_;
};

}  // namespace plait
