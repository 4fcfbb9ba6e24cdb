// What happens inside a node is another strategy's plan: this makes it, and says who holds what of
// it, because holders of the same meet between nodes.
#pragma once

#include "strategy/strategy.hpp"

namespace plait::strategy {

/// The plan of the workers of one node, for `name` (ExchangeRequest::inner of the request).
/// UserError where it cannot be used there: weights that are read late, or sent inside the node.
plan::Plan inner_plan(const std::string& name, const PlanRequest& request);

/// Every update right behind the last backward task of its block, so that its weights can be on
/// their way while others are computed; the bits stay. Not where gradients are summed or clipped
/// first.
std::vector<plan::Task> with_early_updates(const plan::Network& network,
                                           std::vector<plan::Task> tasks);

/// Blocks whose weights and running statistics the same workers of a node hold, equal ones.
struct Held {
  std::vector<int> places;  ///< in the node
  std::vector<int> blocks;
};

/// UserError where weights and statistics of a block are not together.
std::vector<Held> held_together(const plan::Plan& inner, const std::string& name);

}  // namespace plait::strategy
