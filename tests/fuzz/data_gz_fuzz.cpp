// Any bytes as a gzip file: at most the limit of content or a UserError, nothing else.
#include "base/error.hpp"
#include "data/bytes.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  // The first byte chooses the limit, so that it lies below, at and above a chunk.
  const std::size_t limit = std::size_t{data[0]} * 1024;
  try {
    if (plait::data::gunzip({data + 1, size - 1}, "fuzz", limit).size() > limit) __builtin_trap();
  } catch (const plait::UserError&) {
  }
  return 0;
}
