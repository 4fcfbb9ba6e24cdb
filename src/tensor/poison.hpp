// A mode for tests: memory without a value is filled with NaN, so that a result shows whatever
// reads it. On while the environment variable PLAIT_POISON_MEMORY is 1.
#pragma once

#include <cstddef>
#include <span>

namespace plait::tensor {

bool poisons_memory();

/// Every float and bf16 in it becomes NaN.
void poison(std::span<std::byte> memory);

/// For new memory that nobody should read before it is written: zeros, so that a mistake is at
/// least reproducible; NaN in the mode above.
void clear_new(std::span<std::byte> memory);

}  // namespace plait::tensor
