// LinkState: the links of a machine in use. Inside a node nothing is shared. Between nodes every
// node has one link out and one link in, and each carries one message at a time, in the order of
// sending. Calls must come in the order of time.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/machine.hpp"

namespace plait::simulate {

/// How the members of a group lie on the nodes.
struct Spread {
  struct Part {
    int node = 0;
    int members = 0;
  };
  std::vector<Part> parts{};
  int members = 0;
};

Spread spread(const plan::Machine& machine, const std::vector<int>& workers);

class LinkState {
 public:
  explicit LinkState(const plan::Machine& machine);

  struct Message {
    int from = 0;  ///< workers
    int to = 0;
    std::int64_t bytes = 0;
  };
  /// When the message arrives that is sent now. Between nodes: it begins when both links are free,
  /// holds them for bytes / rate, and arrives a latency after its last byte.
  double send(double now, const Message& message);

  /// When every member has its n - 1 messages of bytes / n from the others, all sent now. A node
  /// with c of the n members pushes out, and takes in, c (n - c) bytes / n over its links: they are
  /// held so long, after what they carry already, and a latency follows. Inside, a member passes
  /// (c - 1) bytes / n to its neighbours. The slower of the two counts, for all members.
  double exchange(double now, const Spread& group, double bytes);

 private:
  plan::Machine machine_;
  std::vector<double> out_free_{};  ///< per node: free from then on
  std::vector<double> in_free_{};
};

}  // namespace plait::simulate
