// Index arithmetic over several arrays, and the shard of each member.
#include "transport/pieces.hpp"

#include <algorithm>

#include "base/rounding.hpp"

namespace plait::transport {

Pieces::Pieces(std::vector<std::span<float>> pieces) : pieces_(std::move(pieces)) {
  std::erase_if(pieces_, [](std::span<float> piece) { return piece.empty(); });
  starts_.push_back(0);
  for (const std::span<float> piece : pieces_) starts_.push_back(starts_.back() + piece.size());
}

std::size_t Pieces::piece_at(std::size_t index) const {
  return std::upper_bound(starts_.begin(), starts_.end(), index) - starts_.begin() - 1;
}

bool Pieces::in_one(IndexRange range) const {
  return range.size() == 0 || range.end <= starts_[piece_at(range.begin) + 1];
}

std::span<float> Pieces::part(IndexRange range) const {
  if (range.size() == 0) return {};
  const std::size_t piece = piece_at(range.begin);
  return pieces_[piece].subspan(range.begin - starts_[piece], range.size());
}

template <class Visit>
void Pieces::visit(IndexRange range, Visit visit) const {
  std::size_t piece = range.size() == 0 ? 0 : piece_at(range.begin);
  for (std::size_t at = range.begin; at < range.end; ++piece) {
    const std::size_t end = std::min(range.end, starts_[piece + 1]);
    visit(part({at, end}), at - range.begin);
    at = end;
  }
}

void Pieces::read(IndexRange range, float* to) const {
  visit(range, [to](std::span<float> values, std::size_t offset) {
    std::copy(values.begin(), values.end(), to + offset);
  });
}

void Pieces::write(IndexRange range, const float* from) const {
  visit(range, [from](std::span<float> values, std::size_t offset) {
    std::copy_n(from + offset, values.size(), values.begin());
  });
}

IndexRange shard_of(std::size_t n, int members, int member) {
  constexpr std::size_t kUnit = 16;
  const std::size_t units = divide_up(n, kUnit);
  const auto begin = [&](std::size_t m) { return std::min(n, units * m / members * kUnit); };
  return {begin(member), begin(member + 1)};
}

}  // namespace plait::transport
