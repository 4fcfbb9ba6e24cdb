// Blocks that are not the model's, as the planner sees them: the finest ones, like those of a
// model.
#pragma once

#include "plan/network.hpp"

namespace plait::strategy {

/// What computes `spec` on a tensor of shape `src`: tensor 0 is that, the last block leaves the
/// result.
plan::Network added_network(const graph::BlockSpec& spec, const tensor::Shape& src);

}  // namespace plait::strategy
