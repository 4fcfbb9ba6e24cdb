// Pieces of schedules that several strategies share: the plain way through a network.
#pragma once

#include <functional>

#include "lower/schedule.hpp"
#include "strategy/strategy.hpp"

namespace plait::strategy {

/// A schedule with everything the request says and one empty program per worker.
lower::Schedule empty_schedule(const std::string& strategy, const PlanRequest& request);

/// The first one of a minibatch moves running statistics.
struct Microbatch {
  plan::Samples samples{};
  bool first = true;
};

/// Which worker runs this task.
using PlaceTask = std::function<int(plan::TaskKind kind, int block)>;

/// Lists forward of every block, loss, and backward from the last block to the first:
/// backward_data, then backward_weights. Blocks without parameters have no weights task; the first
/// of a chain then has none at all.
void list_microbatch(const Microbatch& of, const PlaceTask& place, lower::Schedule& schedule);

/// UserError where blocks of the network use the weights of others, which the strategy cannot do.
void refuse_tied_weights(const plan::Network& network, const std::string& strategy);

}  // namespace plait::strategy
