// Where workers meet in the simulator: messages that were sent and not yet received, reductions
// under way, and who is blocked there. Times only; the links are in link_state.hpp.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace plait::simulate {

constexpr double kNotYet = std::numeric_limits<double>::infinity();

/// One channel of messages, first in first out.
class MessageQueue {
 public:
  /// Returns the worker that was blocked there, or -1.
  int put(double arrival) {
    arrivals_.push_back(arrival);
    const int blocked = blocked_;
    blocked_ = -1;
    return blocked;
  }
  /// Arrival of the next message; kNotYet while it is not sent: then `worker` is blocked here.
  double take(int worker) {
    if (taken_ == arrivals_.size()) {
      blocked_ = worker;
      return kNotYet;
    }
    const double arrival = arrivals_[taken_++];
    if (taken_ == arrivals_.size()) {
      arrivals_.clear();
      taken_ = 0;
    }
    return arrival;
  }

 private:
  std::vector<double> arrivals_{};
  std::size_t taken_ = 0;
  int blocked_ = -1;
};

/// One exchange of a reduction: known when all members have come.
struct Meeting {
  int came = 0;
  double done = kNotYet;
  std::vector<int> blocked{};
};

inline Meeting& exchange_at(std::vector<Meeting>& exchanges, int number) {
  if (exchanges.size() <= static_cast<std::size_t>(number)) {
    exchanges.resize(static_cast<std::size_t>(number) + 1);
  }
  return exchanges[static_cast<std::size_t>(number)];
}

/// The reductions of one bucket over one group. Every member counts its own starts, sums and
/// finishes: its n-th belongs to the n-th of the others.
struct ReductionQueue {
  struct Member {
    int started = 0;
    int summed = 0;  ///< own shard sent
    int finished = 0;
  };
  std::vector<Member> members{};
  std::vector<Meeting> shards{};    ///< by number of the reduction: after start
  std::vector<Meeting> gathered{};  ///< after sum
};

}  // namespace plait::simulate
