// What this process has used of the machine's memory.
#pragma once

#include <cstdint>

namespace plait {

/// Largest resident size so far.
std::int64_t peak_memory_bytes();

}  // namespace plait
