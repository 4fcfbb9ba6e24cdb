// Members as threads of this process: mailboxes, buffers handed over instead of copied, and if
// wanted a slow network between pretended nodes.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "transport/board.hpp"
#include "transport/group.hpp"

namespace plait::transport {

/// The link by which messages leave a node for any other. It carries one message at a time, in the
/// order of sending; a message arrives latency_seconds after its last byte has left.
/// bytes_per_second 0: no model, messages are there at once.
struct LinkModel {
  double bytes_per_second = 0;
  double latency_seconds = 0;
};

struct ThreadWorldOptions {
  int nodes = 1;
  int members_per_node = 1;  ///< rank = node * members_per_node + place in the node
  LinkModel between_nodes{};
  std::size_t board_bytes = 0;  ///< per member
};

/// Must outlive its groups and their requests.
class ThreadWorld {
 public:
  explicit ThreadWorld(const ThreadWorldOptions& options);
  ThreadWorld(const ThreadWorld&) = delete;
  ThreadWorld& operator=(const ThreadWorld&) = delete;
  ~ThreadWorld();

  int size() const;
  /// The whole job as member `rank` sees it; one per member.
  std::unique_ptr<Group> group(int rank);
  /// A second set of channels that no link model slows down and no traffic counts: for control.
  std::unique_ptr<Group> control_group(int rank);
  Board& board();
  void abort(const std::string& reason);

 private:
  class State;
  std::unique_ptr<State> state_;
};

/// Runs body(rank) on one thread per member and joins them all. The first exception (by time) that
/// is not Aborted is rethrown, or the first Aborted if there are no others; a throwing member
/// aborts the world, so the others end too.
void run_members(ThreadWorld& world, const std::function<void(int rank)>& body);

}  // namespace plait::transport
