// Index arithmetic of Shard and Subset.
#include "data/select.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace plait::data {

Shard::Shard(DatasetPtr inner, int rank, int ranks)
    : Decorator(std::move(inner)), rank_(rank), ranks_(ranks) {
  if (ranks < 1 || rank < 0 || rank >= ranks)
    user_error("shard {} of {} does not exist", rank, ranks);
  if (Decorator::size() < ranks) {
    user_error("{} samples cannot be divided between {} workers; use fewer workers or more data",
               Decorator::size(), ranks);
  }
}

std::int64_t Shard::size() const { return (Decorator::size() - rank_ + ranks_ - 1) / ranks_; }

void Shard::get(std::int64_t index, std::uint64_t epoch, Sample out) const {
  inner().get(index * ranks_ + rank_, epoch, out);
}

Subset::Subset(DatasetPtr inner, std::int64_t count)
    : Decorator(std::move(inner)), count_(std::min(count, Decorator::size())) {
  if (count < 1) user_error("a limit of {} samples leaves no data; use at least 1", count);
}

}  // namespace plait::data
