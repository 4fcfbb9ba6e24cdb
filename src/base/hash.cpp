// Hash on xxHash's streaming state. Equal bytes give equal hashes however they are divided into
// add() calls.
#include "base/hash.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <new>

namespace plait {

Hash::Hash() : state_(XXH3_createState()) {
  if (state_ == nullptr) throw std::bad_alloc();
  XXH3_64bits_reset(state_);
}

Hash::~Hash() { XXH3_freeState(state_); }

void Hash::add(const void* data, std::size_t bytes) { XXH3_64bits_update(state_, data, bytes); }

std::uint64_t Hash::value() const { return XXH3_64bits_digest(state_); }

std::string Hash::hex() const { return fmt::format("{:016x}", value()); }

}  // namespace plait
