// Any text given to the state.json reader is read or refused with a UserError; what is read is
// written and read back as it was.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/error.hpp"
#include "checkpoint/state.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  plait::checkpoint::StateFile file;
  try {
    file = plait::checkpoint::parse_state({reinterpret_cast<const char*>(data), size}, "fuzz");
  } catch (const plait::UserError&) {
    return 0;
  }
  const plait::checkpoint::StateFile again =
      plait::checkpoint::parse_state(plait::checkpoint::print_state(file), "again");
  if (!(again.state == file.state) || again.files != file.files) std::abort();
  return 0;
}
