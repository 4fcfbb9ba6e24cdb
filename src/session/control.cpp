// One byte per step to every member, a step ahead.
#include "session/control.hpp"

#include <algorithm>
#include <utility>

namespace plait::session {

namespace {

constexpr int kControlTag = 1;

}  // namespace

void ControlBroadcast::send(const Control& control) {
  while (!under_way_.empty() &&
         std::ranges::all_of(under_way_.front().requests, &transport::Request::done)) {
    under_way_.pop_front();
  }
  Outgoing& outgoing = under_way_.emplace_back();
  outgoing.bits[0] = static_cast<std::byte>((control.stop ? 1 : 0) + (control.save ? 2 : 0));
  for (int member = 1; member < group_.size(); ++member) {
    outgoing.requests.push_back(group_.isend(outgoing.bits, member, kControlTag));
  }
}

Control ControlBroadcast::receive() {
  std::array<std::byte, 1> incoming{};
  group_.irecv(incoming, 0, kControlTag).wait();
  const int bits = std::to_integer<int>(incoming[0]);
  return {.stop = (bits & 1) != 0, .save = (bits & 2) != 0};
}

Control ControlBroadcast::next() {
  if (group_.size() == 1) return decide_();
  const bool first = std::exchange(first_, false);
  if (group_.rank() != 0) return first ? Control{} : receive();
  const Control now = first ? Control{} : ahead_;
  ahead_ = decide_();
  send(ahead_);
  return now;
}

void ControlBroadcast::finish() {
  if (group_.size() == 1 || first_) return;
  if (group_.rank() == 0) {
    for (Outgoing& outgoing : under_way_) {
      for (transport::Request& request : outgoing.requests) request.wait();
    }
    under_way_.clear();
  } else {
    receive();
  }
}

}  // namespace plait::session
