// Every fuzz target on its seeds, whole, cut short and with single bytes changed: what `./run fuzz`
// would find in its first moment, and that the targets compile.
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "fuzz_targets.hpp"  // made by CMake: one function per file of tests/fuzz

namespace plait {
namespace {

std::vector<std::string> seeds_of(const std::string& target) {
  std::vector<std::string> seeds{"", "{", "0", std::string(64, '\xff')};
  const std::filesystem::path folder =
      std::filesystem::path(PLAIT_SOURCE_DIR) / "tests/fuzz/seeds" / target;
  if (!std::filesystem::exists(folder)) return seeds;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream file(entry.path(), std::ios::binary);
    seeds.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return seeds;
}

class FuzzReplay : public testing::TestWithParam<FuzzTarget> {
 protected:
  static void feed(const std::string& text) {
    EXPECT_EQ(GetParam().run(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()), 0);
  }
};

/// A target that finds something aborts.
TEST_P(FuzzReplay, TakesItsSeeds) {
  constexpr std::size_t kPlaces = 16;
  for (const std::string& seed : seeds_of(GetParam().name)) {
    feed(seed);
    for (std::size_t place = 0; place < kPlaces && !seed.empty(); ++place) {
      const std::size_t at = seed.size() * place / kPlaces;
      feed(seed.substr(0, at));
      std::string changed = seed;
      changed[at] = static_cast<char>(changed[at] ^ 0x15);
      feed(changed);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, FuzzReplay, testing::ValuesIn(kFuzzTargets),
                         [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace plait
