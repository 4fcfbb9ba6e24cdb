// Exchanges: nodes that all play the same plan, each with weights of its own, and average these now
// and then. Which worker exchanges what with whom follows from the plan of a node.
#pragma once

#include "plan/plan.hpp"

namespace plait::lower {

/// A way of exchanging, as a mode of the plan: every so many steps, merged `merge.steps` later; 0:
/// nobody goes on before.
struct ExchangeWay {
  std::string name;
  int every = 1;
  plan::Merge merge{};
};

struct ExchangeSchedule {
  plan::Plan node{};  ///< what the workers of every node do
  plan::Machine machine{};
  std::int64_t batch = 0;  ///< of all nodes
  std::vector<ExchangeWay> ways{};
  bool half = false;  ///< weights travel as bf16
  std::int64_t bucket_bytes = 8 << 20;
};

/// Blocks whose weights and running statistics the same workers hold, equal ones.
struct Held {
  std::vector<int> places{};  ///< workers of a node
  std::vector<int> blocks{};
};

/// By block: the workers that update it, and those whose forward moves its statistics; ascending.
struct Holders {
  std::vector<std::vector<int>> updaters{};
  std::vector<std::vector<int>> state_movers{};
};
Holders holders(const plan::Plan& plan);
std::vector<Held> held_together(const plan::Plan& plan);

/// Every update right behind the last backward task of its block, so that its weights can be on
/// their way while others are computed; the bits stay. Not where gradients are summed or clipped
/// first.
std::vector<plan::Task> with_early_updates(const plan::Network& network,
                                           const std::vector<plan::Task>& tasks);

/// The plan of a node on every node, with its share of the samples, and exchanges between those who
/// hold the same. At the end of a range weights and the optimizer's arrays are averaged.
plan::Plan with_exchanges(const ExchangeSchedule& schedule);

}  // namespace plait::lower
