// Lifeline: one idle TCP connection from the first process of every other node to that of the first
// node. The kernel closes it when a process dies, so both ends know within milliseconds that a
// whole node has lost its processes, where MPI itself would wait for ever. Nothing is sent but a
// farewell.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "transport/group.hpp"
#include "transport/socket.hpp"

namespace plait::transport {

class Lifeline {
 public:
  /// Collective over all members. `silence_seconds`: after so long without any answer from the
  /// other machine a connection counts as lost; 0: never. Nodes that cannot be connected (a
  /// firewall) do without.
  Lifeline(Group& control, double silence_seconds);
  ~Lifeline() { farewell(); }
  Lifeline(const Lifeline&) = delete;
  Lifeline& operator=(const Lifeline&) = delete;

  /// One line about the first connection that was lost, "" while there is none. It comes a moment
  /// after the loss: other processes of that node know more, and end the job first.
  std::string lost();
  /// This node's processes are about to end on purpose: the other side must not count them as
  /// lost, nor this one the other. Not while lost() is running.
  void farewell();
  /// Closes without a farewell, as a process does that dies; for tests.
  void drop() { peers_.clear(); }
  /// Connections that this member holds.
  int connections() const { return static_cast<int>(peers_.size()); }

 private:
  struct Peer {
    int member = 0;
    std::string host;
    Socket socket;
    bool left = false;         ///< with a farewell
    double grace_seconds = 0;  ///< how long a loss is kept back
  };
  void listen_for(Group& control, const std::vector<int>& leaders);
  void connect_to_first(Group& control, const std::vector<int>& leaders);
  void look();

  double silence_seconds_ = 0;
  std::vector<Peer> peers_;
  std::string loss_;
  double say_it_at_ = 0;
};

}  // namespace plait::transport
