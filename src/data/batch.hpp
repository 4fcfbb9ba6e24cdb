// Batches by random access: load(epoch, index) gives the same bits whenever and wherever it is
// called, so a run resumes at any (epoch, index) without replaying anything.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "data/dataset.hpp"
#include "tensor/tensor.hpp"

namespace plait::data {

/// Memory of some samples.
struct SampleMemory {
  SampleMemory(const Dataset& dataset, std::int64_t count);
  tensor::Tensor images;
  tensor::Tensor targets;
  /// Of sample n.
  Sample at(std::int64_t n) { return sample_at(images, targets, n); }

  static Sample sample_at(tensor::Tensor& images, tensor::Tensor& targets, std::int64_t n);
};

struct Batch {
  /// N x sample_shape of sample_type, plain.
  tensor::Tensor images;
  /// N x target_shape, f32.
  tensor::Tensor targets;
  std::uint64_t epoch = 0;
  std::int64_t index = 0;

  std::int64_t size() const { return images.empty() ? 0 : images.shape()[0]; }
};

struct BatchOptions {
  std::int64_t batch = 64;
  std::uint64_t seed = 1;
  bool shuffle = true;
  /// Without it the last batch of an epoch may be smaller.
  bool drop_last = true;
  int threads = 1;  ///< that read the samples of a batch, where that takes long
  /// Of each batch of n samples only those from floor(n begin / parts) to floor(n end / parts):
  /// what one worker of several sees. May be none.
  struct Part {
    int begin = 0;
    int end = 1;
    int parts = 1;
  } part{};
};

class BatchStream {
 public:
  /// UserError when batch < 1, or when drop_last would leave no batch at all.
  BatchStream(DatasetPtr dataset, BatchOptions options);

  const Dataset& dataset() const { return *dataset_; }
  const BatchOptions& options() const { return options_; }
  std::int64_t batches_per_epoch() const { return batches_; }
  std::int64_t samples_per_epoch() const;
  /// Samples of a whole batch, all parts together.
  std::int64_t batch_size(std::int64_t index) const;

  /// The sample numbers of an epoch in their order: Fisher-Yates from (seed, shuffle, epoch).
  std::vector<std::uint32_t> order(std::uint64_t epoch) const;

  /// 0 <= index < batches_per_epoch(). Safe to call from several threads.
  Batch load(std::uint64_t epoch, std::int64_t index) const;
  /// As load(), into the memory of `batch` where its shapes fit. Copies of its tensors see the
  /// change.
  void load_into(std::uint64_t epoch, std::int64_t index, Batch& batch) const;

 private:
  using Order = std::shared_ptr<const std::vector<std::uint32_t>>;
  Order cached_order(std::uint64_t epoch) const;

  DatasetPtr dataset_;
  BatchOptions options_;
  std::int64_t batches_ = 0;

  // The order of the epoch asked for last; a cache only, results never depend on it.
  mutable std::mutex mutex_;
  mutable std::uint64_t cached_epoch_ = 0;
  mutable Order cached_;
};

}  // namespace plait::data
