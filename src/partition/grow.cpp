// Fills one part after the other with the vertices that share most nets with it.
#include "partition/grow.hpp"

#include <algorithm>
#include <queue>

namespace plait::partition {
namespace {

/// A net is looked at as often as it has pins. Larger nets than this are left out: they say little,
/// and the sum of squares would take minutes.
std::size_t largest_net(const Stage& stage) {
  constexpr std::size_t kMost = 1 << 24;
  std::vector<std::size_t> sizes;
  for (std::size_t net = 0; net < stage.pins.size(); ++net) sizes.push_back(stage.pins[net].size());
  std::ranges::sort(sizes);
  std::size_t sum = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    sum += sizes[i] * sizes[i];
    if (sum > kMost) return sizes[i] - 1;
  }
  return sizes.empty() ? 0 : sizes.back();
}

class Growth {
 public:
  Growth(const Stage& stage, std::size_t largest)
      : stage_(stage),
        part_(stage.vertices(), -1),
        shared_(stage.vertices(), 0),
        old_(stage.vertices(), 0),
        largest_(largest) {
    for (std::size_t v = 0; v < stage.vertices(); ++v)
      seeds_.emplace(0, -static_cast<std::int64_t>(v));
  }

  /// Until the parts so far weigh `goal`; the last vertex goes where the sum comes nearer to it.
  void fill(std::int32_t part, double goal) {
    front_ = {};
    std::fill(shared_.begin(), shared_.end(), 0);
    for (std::int64_t next = best(); next >= 0; next = best()) {
      const auto vertex = static_cast<std::size_t>(next);
      if (weight_ + static_cast<double>(stage_.weight(vertex)) / 2 > goal) break;
      take(vertex, part);
    }
  }
  Parts rest(std::int32_t last) {
    std::replace(part_.begin(), part_.end(), -1, last);
    return std::move(part_);
  }

 private:
  using Heap = std::priority_queue<std::pair<std::int64_t, std::int64_t>>;  // score, -vertex

  /// The vertex nearest to this part; without any, the one nearest to all parts so far. -1: none
  /// left.
  std::int64_t best() {
    const std::int64_t near = top(front_, shared_);
    return near >= 0 ? near : top(seeds_, old_);
  }
  std::int64_t top(Heap& heap, const std::vector<std::int64_t>& score) const {
    while (!heap.empty()) {
      const auto [value, negative] = heap.top();
      const auto vertex = static_cast<std::size_t>(-negative);
      if (part_[vertex] < 0 && value == score[vertex]) return -negative;
      heap.pop();  // taken or outdated
    }
    return -1;
  }
  void take(std::size_t vertex, std::int32_t part) {
    part_[vertex] = part;
    weight_ += static_cast<double>(stage_.weight(vertex));
    for (const std::int32_t net : stage_.nets[vertex]) {
      const auto pins = stage_.pins[static_cast<std::size_t>(net)];
      if (pins.size() > largest_) continue;
      for (const std::int32_t other : pins) {
        const auto o = static_cast<std::size_t>(other);
        if (part_[o] >= 0) continue;
        shared_[o] += stage_.net_columns[static_cast<std::size_t>(net)];
        old_[o] += stage_.net_columns[static_cast<std::size_t>(net)];
        front_.emplace(shared_[o], -std::int64_t{other});
        seeds_.emplace(old_[o], -std::int64_t{other});
      }
    }
  }

  const Stage& stage_;
  Parts part_;
  std::vector<std::int64_t> shared_;  // columns that a vertex has in common with this part
  std::vector<std::int64_t> old_;     // with all parts so far
  Heap front_;
  Heap seeds_;
  std::size_t largest_;  // net that is looked at
  double weight_ = 0;
};

Parts filled(const Stage& stage, int parts, std::size_t largest_net) {
  Growth growth(stage, largest_net);
  const auto all = static_cast<double>(stage.weight());
  for (std::int32_t part = 0; part + 1 < parts; ++part) growth.fill(part, all * (part + 1) / parts);
  return growth.rest(parts - 1);
}

}  // namespace

Parts grown_parts(const Stage& stage, int parts) {
  return filled(stage, parts, largest_net(stage));
}

Parts ordered_parts(const Stage& stage, int parts) { return filled(stage, parts, 0); }

}  // namespace plait::partition
