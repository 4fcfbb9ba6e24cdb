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
      if (!block.is_difference()) continue;
      FitInterface one;
      const int x = block.srcs[1];
      one.enter = part(0, x, true);
      const int correction = sum_behind(block.dst, one.coarse);
      if (one.enter.empty() || correction < 0)
        fail("block '{}' is not at an interface", block.name);
      if (all.empty()) before = part(0, block.srcs[0], false);
      one.piece = part(x, network_.blocks[static_cast<std::size_t>(correction)].srcs[0], false);
      one.before = std::exchange(before, one.piece);
      all.push_back(std::move(one));
    }
    return all;
  }

 private:
  /// The sum y + F(d), or y + d; `coarse` are then the blocks of F.
  int sum_behind(int d, std::vector<int>& coarse) const {
    for (int b = 0; b < network_.size(); ++b) {
      const plan::NetworkBlock& block = network_.blocks[static_cast<std::size_t>(b)];
      if (!block.is_join() || block.is_difference()) continue;
      coarse = block.srcs[1] == d ? std::vector<int>{} : part(d, block.srcs[1], true);
      if (block.srcs[1] == d || !coarse.empty()) return b;
    }
    return -1;
  }
  /// The blocks that make tensor `to` of tensor `from`, in order, either added ones or the model's;
  /// none where `from` alone does not lead there.
  std::vector<int> part(int from, int to, bool added) const {
    std::set<int> made{from};
    std::vector<int> blocks;
    for (int b = 0; b < network_.size() && !made.contains(to); ++b) {
      const plan::NetworkBlock& block = network_.blocks[static_cast<std::size_t>(b)];
      if (block.added != added || block.is_join()) continue;
      if (!std::ranges::all_of(block.srcs, [&](int src) { return made.contains(src); })) continue;
      blocks.push_back(b);
      made.insert(block.dst);
    }
    if (!made.contains(to)) return {};
    std::set<int> needed{to};
    std::vector<int> part;
    for (auto b = blocks.rbegin(); b != blocks.rend(); ++b) {
      const plan::NetworkBlock& block = network_.blocks[static_cast<std::size_t>(*b)];
      if (!needed.contains(block.dst)) continue;
      needed.insert(block.srcs.begin(), block.srcs.end());
      part.insert(part.begin(), *b);
    }
    return part;
  }

  const plan::Network& network_;
};

}  // namespace

std::vector<FitInterface> fit_interfaces(const plan::Network& network) {
  return Reader(network).interfaces();
}

}  // namespace plait::session
