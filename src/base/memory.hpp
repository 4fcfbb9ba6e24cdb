// The machine's memory: what this process has used, and what is left.
#pragma once

#include <cstdint>

namespace plait {

/// Largest resident size so far.
std::int64_t peak_memory_bytes();
/// Resident size now.
std::int64_t resident_memory_bytes();

/// What this process could still take: what the system calls available, or what the limits of its
/// control groups leave, whichever is less. 0: not known.
std::int64_t available_memory_bytes();

}  // namespace plait
