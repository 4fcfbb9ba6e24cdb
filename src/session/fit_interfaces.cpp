// Finds the blocks around every difference of a network.
#include "session/fit_interfaces.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "base/error.hpp"

namespace plait::session {

namespace {

class Reader {
 public:
  explicit Reader(const plan::Network& network) : network_(network) {}

  std::vector<FitInterface> interfaces() const {
    std::vector<FitInterface> all;
    std::vector<int> before;
    for (const plan::NetworkBlock& block : network_.blocks) {
      if (!block.is_added_difference()) continue;
      FitInterface one;
      one.enter = writer(block.srcs[1]);
      one.coarse = find(
          [&](const plan::NetworkBlock& b) { return b.reads(block.dst) && !b.is_added_sum(); });
      const int correction =
          one.coarse < 0 ? block.dst : network_.blocks[static_cast<std::size_t>(one.coarse)].dst;
      const int sum = find(
          [&](const plan::NetworkBlock& b) { return b.is_added_sum() && b.srcs[1] == correction; });
      if (one.enter < 0 || sum < 0) fail("block '{}' is not at an interface", block.name);
      if (all.empty()) before = model_blocks(0, block.srcs[0]);
      one.piece =
          model_blocks(block.srcs[1], network_.blocks[static_cast<std::size_t>(sum)].srcs[0]);
      one.before = std::exchange(before, one.piece);
      all.push_back(std::move(one));
    }
    return all;
  }

 private:
  template <class Wanted>
  int find(const Wanted& wanted) const {
    const auto found = std::ranges::find_if(network_.blocks, wanted);
    return found == network_.blocks.end() ? -1 : static_cast<int>(found - network_.blocks.begin());
  }
  int writer(int tensor) const {
    return find(
        [&](const plan::NetworkBlock& b) { return b.dst == tensor && b.added && b.reads_input(); });
  }
  /// Those that make tensor `to` of tensor `from`, in order; `from` alone leads there.
  std::vector<int> model_blocks(int from, int to) const {
    std::vector<int> blocks;
    std::set<int> made{from};
    for (int b = 0; b < network_.size() && !made.contains(to); ++b) {
      const plan::NetworkBlock& block = network_.blocks[static_cast<std::size_t>(b)];
      if (block.added) continue;
      if (!std::ranges::all_of(block.srcs, [&](int src) { return made.contains(src); })) continue;
      blocks.push_back(b);
      made.insert(block.dst);
    }
    return blocks;
  }

  const plan::Network& network_;
};

}  // namespace

std::vector<FitInterface> fit_interfaces(const plan::Network& network) {
  return Reader(network).interfaces();
}

}  // namespace plait::session
