// Any bytes as an image: pixels that fit its size or a UserError.
#include "base/error.hpp"
#include "data/images/decode.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // A few bytes may name an image that takes seconds; the fuzzer shall try many.
  if (size > 1 << 16) return 0;
  for (const int channels : {1, 3}) {
    try {
      const plait::data::Pixels pixels = plait::data::decode_image({data, size}, "fuzz", channels);
      const std::int64_t values = std::int64_t{pixels.height} * pixels.width * channels;
      if (static_cast<std::int64_t>(pixels.values.size()) != values) __builtin_trap();
    } catch (const plait::UserError&) {
    }
  }
  return 0;
}
