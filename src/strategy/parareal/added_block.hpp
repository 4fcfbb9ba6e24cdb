// A block that is not the model's, as the planner sees it.
#pragma once

#include "plan/network.hpp"

namespace plait::strategy {

/// What `spec` costs on a tensor of shape `src`; the tensors it reads and writes are still to be
/// set.
plan::NetworkBlock added_block(const graph::BlockSpec& spec, const tensor::Shape& src);

/// Nothing but this block, from tensor 0 to tensor 1: for asking what it takes.
plan::Network network_of_one(const graph::BlockSpec& spec, const tensor::Shape& src);

}  // namespace plait::strategy
