// When a message or a reduction gets its turn on the links, and when it arrives.
#include "simulate/link_state.hpp"

#include <algorithm>

namespace plait::simulate {

namespace {

double transfer_seconds(const plan::Link& link, double bytes) {
  return link.bytes_per_second > 0 ? bytes / link.bytes_per_second : 0;
}

}  // namespace

Spread spread(const plan::Machine& machine, const std::vector<int>& workers) {
  Spread result{.parts = {}, .members = static_cast<int>(workers.size())};
  for (const int worker : workers) {  // ascending, so nodes come in runs
    const int node = machine.node_of(worker);
    if (result.parts.empty() || result.parts.back().node != node) {
      result.parts.push_back({.node = node});
    }
    ++result.parts.back().members;
  }
  return result;
}

LinkState::LinkState(const plan::Machine& machine)
    : machine_(machine),
      out_free_(static_cast<std::size_t>(machine.nodes)),
      in_free_(static_cast<std::size_t>(machine.nodes)) {}

double LinkState::send(double now, const Message& message) {
  const int from = machine_.node_of(message.from);
  const int to = machine_.node_of(message.to);
  const plan::Link& link = machine_.link(message.from, message.to);
  const double seconds = transfer_seconds(link, static_cast<double>(message.bytes));
  if (from == to) return now + link.latency_seconds + seconds;
  double& out = out_free_[static_cast<std::size_t>(from)];
  double& in = in_free_[static_cast<std::size_t>(to)];
  const double end = std::max({now, out, in}) + seconds;
  out = in = end;
  return end + link.latency_seconds;
}

double LinkState::exchange(double now, const Spread& group, double bytes) {
  const double n = group.members;
  double done = now;
  for (const Spread::Part& part : group.parts) {
    const double c = part.members;
    if (part.members > 1) {
      const plan::Link& link = machine_.inside;
      done =
          std::max(done, now + link.latency_seconds + transfer_seconds(link, (c - 1) * bytes / n));
    }
    if (part.members < group.members) {
      const plan::Link& link = machine_.between;
      double& out = out_free_[static_cast<std::size_t>(part.node)];
      double& in = in_free_[static_cast<std::size_t>(part.node)];
      const double end = std::max({now, out, in}) + transfer_seconds(link, c * (n - c) * bytes / n);
      out = in = end;
      done = std::max(done, end + link.latency_seconds);
    }
  }
  return done;
}

}  // namespace plait::simulate
