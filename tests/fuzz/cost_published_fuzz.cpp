// Any text given to the reader of published profiles is a graph of blocks or a UserError.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/error.hpp"
#include "cost/published.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const plait::cost::PublishedProfile profile =
        plait::cost::parse_published({reinterpret_cast<const char*>(data), size}, "fuzz");
    const plait::plan::Network& network = profile.network;
    if (network.blocks.empty() || network.tensors.size() != network.blocks.size() + 1) std::abort();
    if (profile.blocks.size() != network.blocks.size() || profile.batch < 1) std::abort();
    for (const std::int64_t elements : network.tensors) {
      if (elements < 1) std::abort();
    }
    const auto cost = plait::cost::make_published_cost(profile);
    for (int i = 0; i < network.size(); ++i) {
      const plait::plan::NetworkBlock& block = network.blocks[static_cast<std::size_t>(i)];
      if (block.srcs.empty() || block.dst != i + 1 || block.parameters < 0) std::abort();
      for (std::size_t s = 0; s < block.srcs.size(); ++s) {  // written before, in order, each once
        const int least = s == 0 ? 0 : block.srcs[s - 1] + 1;
        if (block.srcs[s] < least || block.srcs[s] > i) std::abort();
      }
      const double seconds = cost->block(i, 1000).forward;
      if (!(seconds >= 0) || !std::isfinite(seconds)) std::abort();
    }
  } catch (const plait::UserError&) {
  }
  return 0;
}
