// Shortest augmenting paths with potentials: cost(i, j) - row(i) - column(j) >= 0 always, and = 0
// where i has j.
#include "partition/assignment.hpp"

#include <limits>

namespace plait::partition {
namespace {

constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

class Assignment {
 public:
  Assignment(std::span<const std::int64_t> cost, std::size_t count)
      : cost_(cost), count_(count), row_(count, 0), column_(count, 0), taken_by_(count, kNone) {}

  void add(std::size_t i) {
    distance_.assign(count_, std::numeric_limits<std::int64_t>::max());
    before_.assign(count_, kNone);
    done_.assign(count_, 0);
    std::size_t row = i;
    std::size_t last = kNone;  // the column we came over
    std::int64_t length = 0;
    for (;;) {
      const std::size_t nearest = extend(row, last, length);
      done_[nearest] = 1;
      length = distance_[nearest];
      last = nearest;
      if (taken_by_[nearest] == kNone) break;
      row = taken_by_[nearest];
    }
    update_potentials(i, length);
    augment(i, last);
  }

  std::vector<std::int32_t> result() const {
    std::vector<std::int32_t> given(count_);
    for (std::size_t j = 0; j < count_; ++j) given[taken_by_[j]] = static_cast<std::int32_t>(j);
    return given;
  }

 private:
  std::size_t extend(std::size_t row, std::size_t last, std::int64_t length) {
    std::size_t nearest = kNone;
    for (std::size_t j = 0; j < count_; ++j) {
      if (done_[j] != 0) continue;
      const std::int64_t reached = length + cost_[row * count_ + j] - row_[row] - column_[j];
      if (reached < distance_[j]) {
        distance_[j] = reached;
        before_[j] = last;
      }
      if (nearest == kNone || distance_[j] < distance_[nearest]) nearest = j;
    }
    return nearest;
  }
  void update_potentials(std::size_t first, std::int64_t length) {
    row_[first] += length;
    for (std::size_t j = 0; j < count_; ++j) {
      if (done_[j] == 0) continue;
      column_[j] += distance_[j] - length;
      if (taken_by_[j] != kNone) row_[taken_by_[j]] += length - distance_[j];
    }
  }
  void augment(std::size_t first, std::size_t last) {
    while (before_[last] != kNone) {
      taken_by_[last] = taken_by_[before_[last]];
      last = before_[last];
    }
    taken_by_[last] = first;
  }

  std::span<const std::int64_t> cost_;
  std::size_t count_;
  std::vector<std::int64_t> row_;
  std::vector<std::int64_t> column_;
  std::vector<std::size_t> taken_by_;
  std::vector<std::int64_t> distance_;
  std::vector<std::size_t> before_;
  std::vector<char> done_;
};

}  // namespace

std::vector<std::int32_t> cheapest_assignment(std::span<const std::int64_t> cost,
                                              std::size_t count) {
  Assignment assignment(cost, count);
  for (std::size_t i = 0; i < count; ++i) assignment.add(i);
  return assignment.result();
}

}  // namespace plait::partition
