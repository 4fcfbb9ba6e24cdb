// Any text given to the profile reader is read or refused with a UserError; what is read is written
// and read back as it was, and prices every number of samples.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/error.hpp"
#include "cost/measured.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  plait::cost::ProfileFile profile;
  try {
    profile = plait::cost::parse_profile({reinterpret_cast<const char*>(data), size}, "fuzz");
  } catch (const plait::UserError&) {
    return 0;
  }
  if (!(plait::cost::parse_profile(plait::cost::print_profile(profile), "fuzz") == profile))
    std::abort();
  plait::plan::Network network;
  for (const plait::cost::ProfileBlock& block : profile.points.front().blocks) {
    network.blocks.push_back({.name = block.name});
  }
  profile.network_hash.clear();
  const auto cost = plait::cost::make_measured_cost(profile, network);
  for (const std::int64_t samples : {0, 1, 7, 64, 1 << 24}) {
    for (int block = 0; block < network.size(); ++block) {
      const plait::cost::BlockSeconds seconds = cost->block(block, samples);
      const double sum =
          seconds.forward + seconds.backward_data + seconds.backward_weights + seconds.update;
      if (!(sum >= 0) || !std::isfinite(sum)) std::abort();
    }
  }
  if (!(cost->contention(4) >= 1)) std::abort();
  return 0;
}
