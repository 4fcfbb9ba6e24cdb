// The moves and the acceptance rule of the annealing.
#include "partition/anneal.hpp"

#include <algorithm>
#include <cmath>

namespace plait::partition {
namespace {

class Annealer {
 public:
  Annealer(StageCost& cost, double tolerance, const AnnealStep& step, Rng& rng)
      : cost_(cost),
        step_(step),
        rng_(rng),
        vertices_(static_cast<std::uint32_t>(cost.stage().vertices())),
        unit_(cost.mean_weight() * cost.parts() / vertices_) {
    std::int64_t heaviest = 0;
    for (std::int32_t p = 0; p < cost.parts(); ++p) {
      heaviest = std::max(heaviest, cost.part_weight(p));
    }
    limit_ = std::max(heaviest, static_cast<std::int64_t>((1 + tolerance) * cost.mean_weight()));
  }

  void try_once() {
    const std::size_t vertex = rng_.below(vertices_);
    if ((rng_.next_u32() & 1) != 0) {
      try_move(vertex);
    } else {
      try_swap(vertex, rng_.below(vertices_));
    }
  }

 private:
  void try_move(std::size_t vertex) {
    const std::int32_t from = cost_.part()[vertex];
    const std::int32_t to = near_part(vertex);
    if (to == from) return;
    const std::int64_t weight = cost_.stage().weight(vertex);
    double words = 0;
    if (step_.slack_price > 0) {
      words = slack_words(from, to, static_cast<double>(weight));
    } else if (cost_.part_weight(to) + weight > limit_) {
      return;
    }
    words += static_cast<double>(cost_.added(vertex, to));
    if (accepted(words)) cost_.move(vertex, to);
  }

  void try_swap(std::size_t vertex, std::size_t other) {
    const std::int32_t here = cost_.part()[vertex];
    const std::int32_t there = cost_.part()[other];
    if (here == there) return;
    const std::int64_t more = cost_.stage().weight(other) - cost_.stage().weight(vertex);
    if (more != 0 &&
        std::max(cost_.part_weight(here) + more, cost_.part_weight(there) - more) > limit_) {
      return;
    }
    std::int64_t words = cost_.added(vertex, there);
    cost_.move(vertex, there);
    words += cost_.added(other, here);
    if (accepted(static_cast<double>(words))) {
      cost_.move(other, here);
    } else {
      cost_.move(vertex, here);
    }
  }

  bool accepted(double words) {
    if (words <= 0) return words < 0 || step_.temperature > 0;
    if (words > 16 * step_.temperature) return false;
    return rng_.uniform() < std::exp(static_cast<float>(-words / step_.temperature));
  }

  /// What the squares of the deviations grow by.
  double slack_words(std::int32_t from, std::int32_t to, double weight) const {
    const double u = weight / unit_;
    const double difference =
        static_cast<double>(cost_.part_weight(to) - cost_.part_weight(from)) / unit_;
    return step_.slack_price * 2 * u * (difference + u);
  }

  /// A part that reads something the vertex reads; one time in four, any.
  std::int32_t near_part(std::size_t vertex) {
    const auto nets = cost_.stage().nets[vertex];
    if (nets.empty() || (rng_.next_u32() & 3) == 0) {
      return static_cast<std::int32_t>(rng_.below(static_cast<std::uint32_t>(cost_.parts())));
    }
    const auto pins = cost_.stage().pins[static_cast<std::size_t>(pick(nets))];
    return cost_.part()[static_cast<std::size_t>(pick(pins))];
  }
  std::int32_t pick(std::span<const std::int32_t> list) {
    return list[rng_.below(static_cast<std::uint32_t>(list.size()))];
  }

  StageCost& cost_;
  const AnnealStep& step_;
  Rng& rng_;
  std::uint32_t vertices_;
  double unit_;  // mean weight of a vertex
  std::int64_t limit_ = 0;
};

}  // namespace

void anneal(StageCost& cost, double tolerance, const AnnealStep& step, Rng& rng) {
  Annealer annealer(cost, tolerance, step, rng);
  for (std::int64_t i = 0; i < step.tries; ++i) annealer.try_once();
}

}  // namespace plait::partition
