// The assignment problem.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace plait::partition {

/// cost[i * count + j] of giving j to i: the assignment with the least sum. Time count^3.
std::vector<std::int32_t> cheapest_assignment(std::span<const std::int64_t> cost,
                                              std::size_t count);

}  // namespace plait::partition
