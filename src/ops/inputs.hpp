// How many tensors an operation reads, which of them its gradient reads again, and whether it is a
// sum.
#pragma once

#include <cstddef>
#include <limits>

namespace plait::ops {

inline constexpr std::size_t kAnyNumber = std::numeric_limits<std::size_t>::max();

/// An operation without one of these reads one tensor.
struct Inputs {
  std::size_t least = 1;
  std::size_t most = 1;
};

/// An operation that has one of these is computed by its plain-loop kernel only, on tensors in
/// plain layout, and backward_data reads this again.
struct PlainOnly {
  bool reads_src = false;
  bool reads_dst = false;
  bool weights_read_src = false;  ///< it has weights, whose gradient is a task that reads src
  bool adds_gradient = false;     ///< backward_data can add to a gradient of src that is there
};

/// An operation that has one of these adds tensors of one shape, which lie alike: each has the
/// gradient of the result, or with the other sign.
struct Sum {
  int subtracted = -1;  ///< which input has the other sign; -1: none
};

}  // namespace plait::ops
