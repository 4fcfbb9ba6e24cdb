// Which tasks read and make versions of weights. Inside this room only.
#pragma once

#include "plan/plan.hpp"

namespace plait::planning {

inline bool makes_version(const Task& task) {
  return task.kind == TaskKind::update ||
         (task.kind == TaskKind::receive && task.role == Role::weights);
}

inline bool reads_version(const Plan& plan, const Task& task) {
  return (task.kind == TaskKind::forward || task.kind == TaskKind::backward_data) &&
         plan.network.blocks.at(static_cast<std::size_t>(task.block)).parameters > 0;
}

}  // namespace plait::planning
