// Which tasks read and make versions of weights. Inside this room only.
#pragma once

#include "plan/plan.hpp"

namespace plait::plan {

inline bool makes_version(const Task& task) {
  const auto* receive = std::get_if<Receive>(&task.what);
  return is<Update>(task) || (receive != nullptr && receive->message.value.role == Role::weights);
}

inline bool reads_version(const Plan& plan, const Task& task) {
  return delay_of(task).has_value() &&
         plan.network.blocks.at(static_cast<std::size_t>(block_of(task))).parameters > 0;
}

}  // namespace plait::plan
