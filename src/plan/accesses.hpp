// What a task reads and writes. The one place that knows; check, memory and runtime follow it.
#pragma once

#include <vector>

#include "plan/plan.hpp"

namespace plait {

enum class Role : std::uint8_t {
  tensor,   ///< index: tensor of the network
  diff,     ///< gradient of that tensor
  targets,  ///< index 0
  saved,    ///< index: block; forward .. its last backward
  pending,  ///< index: block; backward_data .. backward_weights
  partial,  ///< index: block; gradient of one microbatch before it is added
  weights,  ///< index: block; lives as long as the run, like the next two
  gradient,
  state,
};

std::string_view name_of(Role role);

/// Weights, gradient and state belong to the worker, everything else to one minibatch.
bool is_permanent(Role role);

struct Value {
  Role role = Role::tensor;
  int index = 0;
  Samples samples{};  ///< of values that belong to a minibatch
  bool operator==(const Value&) const = default;
};

struct Access {
  Value value;
  bool writes = false;
};

/// What backward of a block reads beside the gradient: the planner's guess, or the layers' truth.
struct BackwardReads {
  bool src = true;
  bool dst = false;
  bool has_weights_task = true;  ///< false: backward_weights does nothing
};

/// `reads` has one entry per block; empty: the guess for all. Nothing is computed in place. `clip`
/// has no accesses of its own: it reads the gradients of all blocks its program updates.
std::vector<Access> accesses(const Plan& plan, const Task& task,
                             const std::vector<BackwardReads>& reads = {});
/// The same into memory that is there already.
void accesses_into(const Plan& plan, const Task& task, const std::vector<BackwardReads>& reads,
                   std::vector<Access>& out);

}  // namespace plait
