// Exchange: the weights of a bucket on their way between members, and what becomes of them when the
// others' have come (Merge). Several may be under way, each begun before the one before has ended.
#pragma once

#include <deque>
#include <span>
#include <vector>

#include "plan/plan.hpp"
#include "tensor/tensor.hpp"
#include "transport/pieces.hpp"
#include "transport/reduction.hpp"

namespace plait::run {

/// How much of the way of weights between nodes was hidden behind compute.
struct ExchangeTimes {
  std::int64_t count = 0;
  double under_way = 0;  ///< seconds that messages were on their way
  double waited = 0;     ///< of them, seconds that a worker waited
};

/// What an exchange changes; all memory outlives it.
struct ExchangeValues {
  std::vector<std::span<float>> values;  ///< count as one array
  /// For MergeKind::outer, as long as the values; where `learns` is 0 (running statistics) values
  /// are averaged instead.
  std::vector<std::span<float>> momentum{};
  std::vector<char> learns{};
};

class Exchange {
 public:
  /// The bucket's part of the values is exchanged. `tag` and `tag` + 1 are its own.
  Exchange(const plan::Bucket& bucket, ExchangeValues values, transport::Group& group, int tag);

  /// All members have equal values now.
  void all_are_equal();
  void start();
  /// Whether sum() (`sums`), else finish(), would not wait.
  bool ready(bool sums) const { return flights_.at(sums ? summed_ : 0).reduction.ready(); }
  void sum() { flights_.at(summed_++).reduction.sum(); }
  /// Of the one that was started first.
  void finish();
  /// Seconds that sum() and finish() waited.
  double waited() const;
  /// Of those that have ended.
  ExchangeTimes times() const { return {ended_, under_way_, waited_}; }
  std::size_t bytes() const;

 private:
  struct Flight {
    tensor::Tensor own;  ///< as they were at the start
    tensor::Tensor sum;  ///< what travels, then G
    transport::Reduction reduction;
  };
  void merge(const Flight& flight);
  bool remembers() const { return bucket_.half || bucket_.merge.kind == plan::MergeKind::outer; }

  const plan::Bucket& bucket_;
  transport::Pieces values_;
  transport::Pieces momentum_;
  std::vector<char> learns_;
  transport::IndexRange range_{};  ///< of the values
  transport::Group& group_;
  int tag_;
  std::int64_t started_ = 0;
  std::size_t summed_ = 0;  ///< of the flights
  std::int64_t ended_ = 0;
  double under_way_ = 0;  ///< of those that have ended, like the next one
  double waited_ = 0;
  std::deque<Flight> flights_;
  tensor::Tensor common_;  ///< where all were last equal
  tensor::Tensor missed_;  ///< what roundings of our own have left out
};

}  // namespace plait::run
