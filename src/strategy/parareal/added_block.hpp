// A block that is not the model's, as the planner sees it.
#pragma once

#include "plan/network.hpp"

namespace plait {

/// What `spec` costs on a tensor of shape `src`; the tensors it reads and writes are still to be
/// set.
NetworkBlock added_block(const BlockSpec& spec, const Shape& src);

/// Nothing but this block, from tensor 0 to tensor 1: for asking what it takes.
Network network_of_one(const BlockSpec& spec, const Shape& src);

}  // namespace plait
