// Memory that does not depend on a plan: of a forward pass in evaluation, of kernels, of the
// program.
#pragma once

#include "plan/network_sizes.hpp"

namespace plait::plan {

/// Measured: the program with its libraries before the first step.
constexpr std::int64_t kProgramBytes = 30 << 20;

/// run/workspace: equal buffers for the tensors that are alive together; and the images.
std::int64_t workspace_bytes(const Network& network, const NetworkSizes& sizes);

/// Machine code of a block's layers, and the indices of sparse ones.
std::int64_t kernel_bytes(const graph::BlockSpec& block);

}  // namespace plait::plan
