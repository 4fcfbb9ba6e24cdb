// Any bytes given to the .safetensors reader are read or refused with a UserError.
#include <cstdint>
#include <cstdlib>
#include <span>

#include "base/error.hpp"
#include "checkpoint/safetensors.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const plait::checkpoint::SafetensorsFile file =
        plait::checkpoint::parse_safetensors(std::as_bytes(std::span(data, size)), "fuzz");
    std::size_t bytes = 0;
    for (const plait::checkpoint::NamedTensor& named : file.tensors) bytes += named.tensor.bytes();
    if (bytes > size) std::abort();
    // What was read can be written.
    const plait::checkpoint::SafetensorsWriter writer(file.tensors, file.metadata);
    if (writer.bytes() < bytes) std::abort();
  } catch (const plait::UserError&) {
  }
  return 0;
}
