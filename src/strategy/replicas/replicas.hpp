// Strategies whose nodes each have weights of their own, which meet now and then: inside a node any
// synchronous strategy, between nodes an exchange of weights.
#pragma once

#include "strategy/strategy.hpp"

namespace plait::strategy {

/// Hierarchical and asynchronous (methods: arXiv 2104.05588); modes as in daso_modes().
plan::Plan make_daso_plan(const PlanRequest& request);
/// All nodes average their weights every H steps and wait for it.
plan::Plan make_local_sgd_plan(const PlanRequest& request);
/// The same with an outer optimizer on the averaged changes (DiLoCo).
plan::Plan make_diloco_plan(const PlanRequest& request);

}  // namespace plait::strategy
