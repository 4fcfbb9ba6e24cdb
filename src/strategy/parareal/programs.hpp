// The programs of a torn network's workers.
#pragma once

#include "strategy/parareal/torn_network.hpp"
#include "strategy/strategy.hpp"

namespace plait::strategy {

struct TornPlacement {
  int replicas = 1;
  int workers = 1;         ///< of each replica
  std::vector<int> of{};   ///< by piece: its worker in the replica
  bool half_wire = false;  ///< interfaces travel as bf16

  int worker(int replica, int piece) const {
    return replica * workers + of[static_cast<std::size_t>(piece)];
  }
};

/// Groups, buckets and programs of `plan`, whose network is the torn one.
void write_programs(const TornNetwork& torn, const TornPlacement& placement,
                    const PlanRequest& request, plan::Plan& plan);

}  // namespace plait::strategy
