// Moves vertices, and rows of split vertices, out of parts that are too heavy, cheapest first.
#include "partition/balance.hpp"

#include <algorithm>
#include <optional>

#include "partition/shift.hpp"

namespace plait::partition {
namespace {

class Balance {
 public:
  Balance(const StageCost& cost, double cap) : cost_(cost), cap_(cap) {}

  /// The cheapest shift out of the heaviest part; none where it is light enough or nothing helps.
  std::optional<Shift> next() const {
    std::int32_t from = 0;
    for (std::int32_t p = 1; p < cost_.parts(); ++p) {
      if (cost_.part_weight(p) > cost_.part_weight(from)) from = p;
    }
    if (static_cast<double>(cost_.part_weight(from)) <= cap_) return {};
    std::optional<Shift> best;
    double least = 0;
    for (std::size_t v = 0; v < cost_.stage().vertices(); ++v) {
      if (cost_.part()[v] != from || cost_.stage().row_weight[v] == 0) continue;
      for (std::int32_t to = 0; to < cost_.parts(); ++to) {
        const Shift shift{v, to, to == from ? 0 : rows_that_go(v, to)};
        if (shift.rows == 0) continue;
        const double its = price(shift);
        if (best && its >= least) continue;
        best = shift;
        least = its;
      }
    }
    return best;
  }

 private:
  /// All where all fit; else no more than fit there and are too many here. Where not even one fits:
  /// one, if `to` stays lighter than this part is.
  std::int32_t rows_that_go(std::size_t vertex, std::int32_t to) const {
    const std::int64_t row = cost_.stage().row_weight[vertex];
    const std::int64_t all = cost_.stage().rows[vertex];
    const std::int64_t here = cost_.part_weight(cost_.part()[vertex]);
    const std::int64_t there = cost_.part_weight(to);
    const auto cap = static_cast<std::int64_t>(cap_);
    if (there + row > cap) return there + row < here ? 1 : 0;
    const std::int64_t fit = (cap - there) / row;
    const std::int64_t too_many = (here - cap + row - 1) / row;
    return static_cast<std::int32_t>(all <= fit ? all : std::min(fit, too_many));
  }
  /// Words per weight that we wanted to lose.
  double price(const Shift& shift) const {
    const double weight = static_cast<double>(shift.rows) * cost_.stage().row_weight[shift.vertex];
    const double excess = static_cast<double>(cost_.part_weight(cost_.part()[shift.vertex])) - cap_;
    return static_cast<double>(words_of(cost_, shift)) / std::min(weight, excess);
  }

  const StageCost& cost_;
  double cap_;
};

}  // namespace

void balance_stage(LayerChain& chain, std::size_t stage) {
  StageCost cost(chain, stage);
  const double cap = (1 + chain.tolerance) * cost.mean_weight();
  spill_over(chain, stage, cost, cap);
  while (const std::optional<Shift> shift = Balance(cost, cap).next()) {
    apply_shift(chain, stage, cost, *shift);
  }
}

}  // namespace plait::partition
