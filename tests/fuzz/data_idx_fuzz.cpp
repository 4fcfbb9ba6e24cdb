// Any bytes as an IDX file: a parsed array or a UserError, nothing else.
#include "base/error.hpp"
#include "data/idx.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const plait::data::IdxArray array = plait::data::parse_idx({data, size}, "fuzz");
    if (static_cast<std::size_t>(array.shape.elements()) != array.values.size()) __builtin_trap();
  } catch (const plait::UserError&) {
  }
  return 0;
}
