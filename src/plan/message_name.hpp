// What tells a message of a plan from the others: the same on both sides.
#pragma once

#include <cstddef>

#include "plan/task.hpp"

namespace plait::plan {

struct MessageName {
  int from = 0;  ///< workers
  int to = 0;
  /// Of a message of rows: the list names them, and each side has a tensor of its own.
  int list = -1;
  Value value{};
  auto operator<=>(const MessageName&) const = default;
};

/// Of a send or a receive of this worker.
MessageName name_of_message(int worker, const Task& task);

struct MessageNameHash {
  std::size_t operator()(const MessageName& name) const;
};

}  // namespace plait::plan
