// parareal: the depth torn into pieces that run at the same time, joined by a coarse network. Plain
// SGD on the torn network, with exact gradients.
#pragma once

#include "strategy/strategy.hpp"

namespace plait::strategy {

/// Pieces in order on workers / replicas workers, next to each other; replica r has the samples
/// r / replicas. Per sweep: every piece's own blocks, then the chain of coarse parts with one
/// message u_j per interface; backward the chain first, with one message per interface.
/// UserError where pieces, sweeps, replicas and workers do not fit.
plan::Plan make_parareal_plan(const PlanRequest& request);

}  // namespace plait::strategy
