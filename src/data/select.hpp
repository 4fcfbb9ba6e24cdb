// Decorators that choose samples: Shard for data parallel workers, Subset for quick runs.
#pragma once

#include "data/dataset.hpp"

namespace plait::data {

/// Worker `rank` of `ranks` takes samples rank, rank + ranks, rank + 2 ranks, ...
class Shard final : public Decorator {
 public:
  /// UserError unless 0 <= rank < ranks and every rank gets a sample.
  Shard(DatasetPtr inner, int rank, int ranks);
  std::int64_t size() const override;
  void get(std::int64_t index, std::uint64_t epoch, Sample out) const override;

 private:
  int rank_;
  int ranks_;
};

/// The first `count` samples, or all when there are fewer.
class Subset final : public Decorator {
 public:
  /// UserError unless count > 0.
  Subset(DatasetPtr inner, std::int64_t count);
  std::int64_t size() const override { return count_; }

 private:
  std::int64_t count_;
};

}  // namespace plait::data
