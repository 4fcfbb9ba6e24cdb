// Chooses rows that leave a heavy part, directly or through other parts: the path of shifts that
// adds the fewest words.
#include "partition/shift.hpp"

#include <algorithm>
#include <limits>
#include <optional>

#include "base/rounding.hpp"

namespace plait::partition {
namespace {

std::vector<std::int32_t> rows_for(const StageCost& cost, const Shift& shift) {
  std::vector<std::int32_t> rows;
  const std::vector<std::int32_t>& vertex_of_row = cost.stage().vertex_of_row;
  for (std::size_t row = 0; row < vertex_of_row.size(); ++row) {
    if (static_cast<std::size_t>(vertex_of_row[row]) == shift.vertex) {
      rows.push_back(static_cast<std::int32_t>(row));
    }
  }
  const std::int32_t from = cost.part()[shift.vertex];
  std::ranges::stable_sort(rows, {}, [&](std::int32_t row) {
    const auto r = static_cast<std::size_t>(row);
    return cost.row_benefit(r, from) - cost.row_benefit(r, shift.to);
  });
  rows.resize(static_cast<std::size_t>(shift.rows));
  return rows;
}

/// Finds the cheapest path of shifts out of a heavy part, in rows; every row has the same weight.
class ShiftPaths {
 public:
  ShiftPaths(const StageCost& cost, std::int64_t row_weight, double cap)
      : cost_(cost),
        row_weight_(row_weight),
        cap_(static_cast<std::int64_t>(cap)),
        parts_(static_cast<std::size_t>(cost.parts())) {}

  /// Shifts from part to part that end where there is room; the last comes first. Empty: none.
  std::vector<Shift> cheapest(std::int32_t from) {
    const std::int64_t excess = cost_.part_weight(from) - cap_;
    find_shifts(divide_up(excess, row_weight_));
    find_paths(static_cast<std::size_t>(from));
    std::size_t end = parts_;
    for (std::size_t p = 0; p < parts_; ++p) {
      if (room(p) < 1 || price_[p] == kFar) continue;
      if (end == parts_ || price_[p] < price_[end]) end = p;
    }
    if (end == parts_) return {};
    return path(static_cast<std::size_t>(from), end);
  }

 private:
  static constexpr std::int64_t kFar = std::numeric_limits<std::int64_t>::max();

  std::int64_t room(std::size_t part) const {
    return (cap_ - cost_.part_weight(static_cast<std::int32_t>(part))) / row_weight_;
  }
  /// For every pair of parts, the shift of up to `rows` that adds fewest words.
  void find_shifts(std::int64_t rows) {
    shift_.assign(parts_ * parts_, {});
    words_.assign(parts_ * parts_, kFar);
    for (std::size_t v = 0; v < cost_.stage().vertices(); ++v) {
      const auto from = static_cast<std::size_t>(cost_.part()[v]);
      const std::int64_t some = std::min<std::int64_t>(rows, cost_.stage().rows[v]);
      for (std::size_t to = 0; to < parts_; ++to) {
        if (to == from) continue;
        const Shift shift{v, static_cast<std::int32_t>(to), static_cast<std::int32_t>(some)};
        const std::int64_t words = words_of(cost_, shift) * rows / some;
        std::int64_t& least = words_[from * parts_ + to];
        if (words >= least) continue;
        least = words;
        shift_[from * parts_ + to] = shift;
      }
    }
  }
  /// Dijkstra; a shift that saves words counts as one that costs nothing.
  void find_paths(std::size_t from) {
    price_.assign(parts_, kFar);
    before_.assign(parts_, from);
    std::vector<char> done(parts_, 0);
    price_[from] = 0;
    for (;;) {
      std::size_t at = parts_;
      for (std::size_t p = 0; p < parts_; ++p) {
        if (done[p] == 0 && price_[p] != kFar && (at == parts_ || price_[p] < price_[at])) at = p;
      }
      if (at == parts_) return;
      done[at] = 1;
      for (std::size_t to = 0; to < parts_; ++to) {
        const std::int64_t words = words_[at * parts_ + to];
        if (words == kFar) continue;
        const std::int64_t price = price_[at] + std::max<std::int64_t>(words, 0) + 1;
        if (price >= price_[to]) continue;
        price_[to] = price;
        before_[to] = at;
      }
    }
  }
  std::vector<Shift> path(std::size_t from, std::size_t end) const {
    std::vector<Shift> shifts;
    auto rows = static_cast<std::int32_t>(room(end));
    for (std::size_t to = end; to != from; to = before_[to]) {
      shifts.push_back(shift_[before_[to] * parts_ + to]);
      rows = std::min(rows, shifts.back().rows);
    }
    for (Shift& shift : shifts) shift.rows = rows;
    return shifts;
  }

  const StageCost& cost_;
  std::int64_t row_weight_;
  std::int64_t cap_;
  std::size_t parts_;
  std::vector<Shift> shift_;         // per pair of parts
  std::vector<std::int64_t> words_;  // per pair of parts
  std::vector<std::int64_t> price_;  // of the way to a part
  std::vector<std::size_t> before_;  // the part before it on that way
};

std::int32_t heaviest_part(const StageCost& cost) {
  std::int32_t heaviest = 0;
  for (std::int32_t p = 1; p < cost.parts(); ++p) {
    if (cost.part_weight(p) > cost.part_weight(heaviest)) heaviest = p;
  }
  return heaviest;
}

}  // namespace

std::int64_t words_of(const StageCost& cost, const Shift& shift) {
  return shift.rows == cost.stage().rows[shift.vertex]
             ? cost.added(shift.vertex, shift.to)
             : cost.added_by_piece(shift.vertex, shift.to, shift.rows);
}

void apply_shift(LayerChain& chain, std::size_t stage, StageCost& cost, const Shift& shift) {
  if (shift.rows == chain.stages[stage].rows[shift.vertex]) {
    cost.move(shift.vertex, shift.to);
    chain.part[stage] = cost.part();
    return;
  }
  chain.part[stage] = cost.part();
  chain.stages[stage].split(rows_for(cost, shift));
  chain.part[stage].push_back(shift.to);
  cost = StageCost(chain, stage);
}

void spill_over(LayerChain& chain, std::size_t stage, StageCost& cost, double cap) {
  const std::vector<std::int32_t>& weights = chain.stages[stage].row_weight;
  const std::int64_t row = weights.empty() ? 0 : weights[0];
  if (chain.stages[stage].vertices() < static_cast<std::size_t>(chain.parts)) return;
  if (row == 0 || std::ranges::any_of(weights, [&](std::int32_t w) { return w != row; })) return;
  for (;;) {
    const std::int32_t from = heaviest_part(cost);
    if (static_cast<double>(cost.part_weight(from)) <= cap) return;
    const std::vector<Shift> shifts = ShiftPaths(cost, row, cap).cheapest(from);
    if (shifts.empty()) return;
    for (const Shift& shift : shifts) apply_shift(chain, stage, cost, shift);
  }
}

}  // namespace plait::partition
