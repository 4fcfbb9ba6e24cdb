// What happens inside a node is another strategy's plan: this makes it, and says who holds what of
// it, because holders of the same meet between nodes.
#pragma once

#include "strategy/strategy.hpp"

namespace plait::strategy {

/// The plan of the workers of one node, for `name` (ExchangeRequest::inner of the request).
/// UserError where it cannot be used there: weights that are read late, sent inside the node, or
/// not together with the running statistics of their block.
plan::Plan inner_plan(const std::string& name, const PlanRequest& request);

}  // namespace plait::strategy
