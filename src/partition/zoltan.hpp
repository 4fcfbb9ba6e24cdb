// Zoltan's hypergraph partitioner. A build without it has the same functions; they say so.
#pragma once

#include <cstdint>
#include <vector>

#include "partition/chain.hpp"

namespace plait::partition {

/// Every net is cut at cost * (parts that it touches - 1). A pin of vertices + p stands for part p
/// itself.
struct Hypergraph {
  std::vector<std::int64_t> weight;  ///< per vertex
  Lists pins;                        ///< per net
  std::vector<std::int32_t> cost;    ///< per net
};

/// False: this build has no Zoltan.
bool has_zoltan();

/// Deterministic by seed. UserError where this build has no Zoltan. Zoltan needs MPI: where nobody
/// has initialised it, this does, and finalises it at exit. So a process of an MPI job has to make
/// its MpiWorld first.
Parts zoltan_parts(const Hypergraph& graph, int parts, double tolerance, std::uint64_t seed);

}  // namespace plait::partition
