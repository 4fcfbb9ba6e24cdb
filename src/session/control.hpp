// ControlBroadcast: worker 0's decisions for each step (stop, save), sent to all members on a group
// of their own. These small messages count as no traffic.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <vector>

#include "transport/group.hpp"

namespace plait::session {

/// What only worker 0 can know: the clock and the signals.
struct Control {
  bool stop = false;
  bool save = false;
  bool operator==(const Control&) const = default;
};

/// The decision for a step is sent one step ahead, so that nobody waits for it.
class ControlBroadcast {
 public:
  ControlBroadcast(transport::Group& group, std::function<Control()> decide)
      : group_(group), decide_(std::move(decide)) {}
  /// Before each step, on every member: what applies to it.
  Control next();
  /// After the last step, on every member: takes what is still under way.
  void finish();

 private:
  struct Outgoing {
    std::array<std::byte, 1> bits{};
    std::vector<transport::Request> requests{};
  };
  void send(const Control& control);
  Control receive();

  transport::Group& group_;
  std::function<Control()> decide_;
  Control ahead_{};  ///< worker 0: sent already
  bool first_ = true;
  std::deque<Outgoing> under_way_;  ///< slow members take theirs later; nobody waits for that
};

}  // namespace plait::session
