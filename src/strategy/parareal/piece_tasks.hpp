// The tasks of a torn network on its workers.
#pragma once

#include "lower/schedule.hpp"
#include "strategy/parareal/torn_network.hpp"

namespace plait::strategy {

struct TornPlacement {
  int replicas = 1;
  int workers = 1;        ///< of each replica
  std::vector<int> of{};  ///< by piece: its worker in the replica

  int worker(int replica, int piece) const {
    return replica * workers + of[static_cast<std::size_t>(piece)];
  }
};

/// Lists them in `schedule`, whose network is the torn one.
void list_pieces(const TornNetwork& torn, const TornPlacement& placement,
                 lower::Schedule& schedule);

}  // namespace plait::strategy
