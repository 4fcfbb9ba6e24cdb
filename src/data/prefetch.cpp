// The loading thread and its queue of reused batches. An exception of the thread is thrown by
// next() in its place of the sequence.
#include "data/prefetch.hpp"

#include "base/error.hpp"

namespace plait::data {

Prefetch::Prefetch(std::shared_ptr<const BatchStream> stream, PrefetchOptions options)
    : stream_(std::move(stream)), options_(options) {
  if (options_.depth < 1) fail("prefetch depth {}: must be at least 1", options_.depth);
  if (options_.index < 0 || options_.index >= stream_->batches_per_epoch()) {
    fail("prefetch cannot start at batch {} of {}", options_.index, stream_->batches_per_epoch());
  }
  thread_ = std::thread([this] { load_ahead(); });
}

Prefetch::~Prefetch() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Prefetch::load_ahead() {
  std::uint64_t epoch = options_.epoch;
  std::int64_t index = options_.index;
  while (true) {
    Batch batch;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return stop_ || ready_.size() < options_.depth; });
      if (stop_) return;
      if (!spare_.empty()) {
        batch = std::move(spare_.back());
        spare_.pop_back();
      }
    }
    std::exception_ptr error;
    try {
      stream_->load_into(epoch, index, batch);
    } catch (...) {
      error = std::current_exception();
    }
    {
      const std::lock_guard lock(mutex_);
      if (error) {
        error_ = error;
      } else {
        ready_.push_back(std::move(batch));
      }
    }
    changed_.notify_all();
    if (error) return;
    if (++index == stream_->batches_per_epoch()) {
      index = 0;
      ++epoch;
    }
  }
}

void Prefetch::next(Batch& batch) {
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !ready_.empty() || error_; });
    if (ready_.empty()) std::rethrow_exception(error_);
    if (!batch.images.empty() && spare_.size() <= options_.depth) {
      spare_.push_back(std::move(batch));
    }
    batch = std::move(ready_.front());
    ready_.pop_front();
  }
  changed_.notify_all();
}

Batch Prefetch::next() {
  Batch batch;
  next(batch);
  return batch;
}

}  // namespace plait::data
