// The pieces of the check (check.hpp), in the order they run; a piece may rely on those before it
// having found nothing. Inside this room only.
#pragma once

#include <string>
#include <vector>

#include "plan/alike.hpp"
#include "plan/moment.hpp"
#include "plan/plan.hpp"

namespace plait::plan {

/// Faults as lines. Keeps the first hundred and counts the others: a wrong strategy is wrong on
/// every worker.
class FaultList {
 public:
  explicit FaultList(const Plan& plan) : plan_(plan) {}
  void add(std::string line);
  /// "worker 2, task 7 (forward of conv1, part 1 of 4): `what`".
  void add(int worker, int position, const std::string& what);
  /// Where a plan has several modes, the lines that follow name this one.
  void in_mode(int mode);
  bool empty() const { return lines_.empty(); }
  /// The lines, and one more that counts those left out.
  std::vector<std::string> take();

  const Task& task(int worker, int position) const;

  /// Calls `check` for every worker, but not for those alike where nothing is wrong: what is wrong
  /// is named for all.
  template <class Check>
  void each_worker(const Check& check) {
    for (int worker = 0; worker < plan_.workers(); ++worker) {
      if (like(worker) == worker || !empty()) check(worker);
    }
  }
  /// The first worker whose program is alike.
  int like(int worker) {
    if (alike_.empty()) alike_ = first_alike(plan_);
    return alike_[static_cast<std::size_t>(worker)];
  }

 private:
  const Plan& plan_;
  std::vector<int> alike_;
  std::string mode_;  ///< " (in mode 1)", or nothing
  std::vector<std::string> lines_;
  std::size_t left_out_ = 0;
};

inline bool in_range(int index, std::size_t size) {
  return index >= 0 && static_cast<std::size_t>(index) < size;
}

void check_network(const Network& network, FaultList& faults);
void check_indices(const Plan& plan, FaultList& faults);
/// Of the tasks that run in ranges of this mode.
void check_values(const Plan& plan, int mode, FaultList& faults);
void check_updates(const Plan& plan, int mode, FaultList& faults);
/// What all workers together must do: update, make gradients, see samples.
void check_complete(const Plan& plan, int mode, FaultList& faults);
void check_versions(const Plan& plan, int mode, FaultList& faults);

/// A task of a program, from outside.
struct Location {
  int worker = -1;
  int position = -1;
};

/// A message that comes again for every minibatch.
struct Channel {
  Location send;
  Location receive;
};

/// The sum of one bucket over one group. One entry per member of the group.
struct Summation {
  int group = 0;
  int bucket = 0;
  std::vector<Location> start;
  std::vector<Location> sum;
  std::vector<Location> finish;
};

/// Who speaks to whom, and for each task of each program the number of its channel or summation
/// (-1: it does not communicate).
struct MessageIndex {
  std::vector<Channel> channels;
  std::vector<Summation> summations;
  std::vector<std::vector<int>> number;
};

MessageIndex check_messages(const Plan& plan, FaultList& faults);

/// Plays the plan without time: a send never waits, a receive waits for its send, a sum for every
/// member's start, a finish for every member's sum.
void check_order(const Plan& plan, const MessageIndex& index, FaultList& faults);

}  // namespace plait::plan
