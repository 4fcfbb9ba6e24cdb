// BatchRing: the minibatches in flight on one worker, as they were loaded, each in the place of one
// that no task uses any more.
#pragma once

#include <functional>

#include "data/batch.hpp"
#include "plan/plan.hpp"

namespace plait::run {

class BatchRing {
 public:
  /// `next_batch` brings the samples of the worker's load tasks, minibatch by minibatch.
  BatchRing(const plan::Plan& plan, int worker, std::function<void(data::Batch&)> next_batch);

  /// What next_batch brings of each minibatch.
  const plan::Samples& share() const { return share_; }
  /// Tensor 0 is read where the data was loaded; otherwise each load task copies its part.
  bool read_in_place() const { return read_in_place_; }
  /// Minibatches that it keeps.
  std::size_t size() const { return batches_.size(); }

  bool has(std::int64_t minibatch) const { return newest_ >= minibatch; }
  /// The next minibatch, of `samples` in all. Failure where another number of samples comes.
  void fetch(std::int64_t minibatch, std::int64_t samples);
  /// All that next_batch brought.
  const data::Batch& at(std::int64_t minibatch) const {
    return batches_[static_cast<std::size_t>(minibatch) % batches_.size()];
  }
  /// Of the part `samples` of a minibatch of `whole` samples.
  std::span<const std::byte> images(std::int64_t minibatch, const plan::Samples& samples,
                                    std::int64_t whole) const;
  std::span<const float> targets(std::int64_t minibatch, const plan::Samples& samples,
                                 std::int64_t whole) const;

 private:
  std::span<const std::byte> part(const tensor::Tensor& tensor, const plan::Samples& samples,
                                  std::int64_t whole) const;

  std::function<void(data::Batch&)> next_batch_;
  plan::Samples share_;
  bool read_in_place_;
  std::vector<data::Batch> batches_;
  std::int64_t newest_ = -1;
};

}  // namespace plait::run
