// Prefetch: one thread that loads the next batches while the consumer computes. The sequence is
// that of BatchStream::load from the starting point on, epoch after epoch, without end.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "data/batch.hpp"

namespace plait::data {

struct PrefetchOptions {
  std::uint64_t epoch = 0;
  std::int64_t index = 0;
  /// Batches that may wait, loaded, for the consumer.
  std::size_t depth = 2;
};

class Prefetch {
 public:
  explicit Prefetch(std::shared_ptr<const BatchStream> stream, PrefetchOptions options = {});
  /// Waits at most for the batch being loaded.
  ~Prefetch();
  Prefetch(const Prefetch&) = delete;
  Prefetch& operator=(const Prefetch&) = delete;

  /// Puts the next batch into `batch` and takes the memory it had for a later one: the caller must
  /// not keep copies of its tensors. Rethrows, in its place of the sequence, what loading threw;
  /// after that every call throws the same.
  void next(Batch& batch);
  /// As next(batch) without handing memory back.
  Batch next();

 private:
  void load_ahead();

  std::shared_ptr<const BatchStream> stream_;
  PrefetchOptions options_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Batch> ready_;
  std::vector<Batch> spare_;
  std::exception_ptr error_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace plait::data
