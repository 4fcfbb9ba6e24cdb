// Fills memory with NaN (all bits set) where the mode is on.
#include "tensor/poison.hpp"

#include <cstdlib>
#include <cstring>
#include <string_view>

namespace plait::tensor {

bool poisons_memory() {
  const char* value = std::getenv("PLAIT_POISON_MEMORY");
  return value != nullptr && std::string_view(value) == "1";
}

void poison(std::span<std::byte> memory) { std::memset(memory.data(), 0xFF, memory.size()); }

void clear_new(std::span<std::byte> memory) {
  std::memset(memory.data(), poisons_memory() ? 0xFF : 0, memory.size());
}

}  // namespace plait::tensor
