// A hash table of values with a fixed order of numbering.
#include "plan/values.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace plait::plan {

namespace {

auto name_key(const Value& value) { return std::tuple(value.role, value.index); }

}  // namespace

bool contains(const Samples& outer, const Samples& inner) {
  return std::int64_t{outer.begin} * inner.of <= std::int64_t{inner.begin} * outer.of &&
         std::int64_t{inner.end} * outer.of <= std::int64_t{outer.end} * inner.of;
}

bool smaller(const Samples& a, const Samples& b) {
  return std::int64_t{a.end - a.begin} * b.of < std::int64_t{b.end - b.begin} * a.of;
}

void ValueTable::clear() {
  uses_.clear();
  by_name_.clear();
  std::ranges::fill(cells_, 0);
}

std::size_t ValueTable::probe(const Value& value) const {
  const std::size_t mask = cells_.size() - 1;
  std::size_t cell = static_cast<std::size_t>(hash_of(value)) & mask;
  while (cells_[cell] != 0 && uses_[static_cast<std::size_t>(cells_[cell] - 1)].value != value) {
    cell = (cell + 1) & mask;
  }
  return cell;
}

void ValueTable::grow() {
  cells_.assign(std::max<std::size_t>(64, cells_.size() * 2), 0);
  for (std::size_t i = 0; i < uses_.size(); ++i) {
    cells_[probe(uses_[i].value)] = static_cast<int>(i) + 1;
  }
}

int ValueTable::intern(const Value& value, bool& is_new) {
  if (2 * (uses_.size() + 1) > cells_.size()) grow();
  const std::size_t cell = probe(value);
  is_new = cells_[cell] == 0;
  if (is_new) {
    uses_.push_back({.value = value});
    cells_[cell] = static_cast<int>(uses_.size());
    by_name_.clear();
  }
  return cells_[cell] - 1;
}

int ValueTable::find(const Value& value) {
  if (uses_.empty()) return -1;
  const std::size_t cell = probe(value);
  if (cells_[cell] != 0) return cells_[cell] - 1;
  const auto key_of = [&](int number) { return name_key(use(number).value); };
  if (by_name_.empty()) {
    by_name_.resize(uses_.size());
    std::iota(by_name_.begin(), by_name_.end(), 0);
    std::ranges::stable_sort(by_name_, {}, key_of);
  }
  int best = -1;
  for (auto at = std::ranges::lower_bound(by_name_, name_key(value), {}, key_of);
       at != by_name_.end() && key_of(*at) == name_key(value); ++at) {
    const Samples& samples = use(*at).value.samples;
    if (!contains(samples, value.samples)) continue;
    if (best < 0 || smaller(samples, use(best).value.samples)) best = *at;
  }
  return best;
}

}  // namespace plait::plan
