// What strategies that tear the depth can be told, and the settings as such.
#pragma once

#include <vector>

#include "strategy/parareal/coarse.hpp"
#include "strategy/parareal/options.hpp"

namespace plait::strategy {

constexpr int kBestPieces = -1;  ///< TearRequest::pieces: as many as are fastest

struct TearRequest {
  int pieces = 0;    ///< 0: one per worker
  int replicas = 0;  ///< of every piece; 0: one, or the planner's choice with kBestPieces
  int sweeps = 1;
  CoarseKind coarse = CoarseKind::block;
  bool half_wire = false;  ///< what crosses interfaces travels as bf16
  /// The blocks that the pieces but the first begin with; empty: balanced by cost.
  std::vector<int> cuts{};
};

/// Of settings that pass their table.
TearRequest tear_request(const PararealOptions& options);

}  // namespace plait::strategy
