// Reuses buffers of equal size, and keeps no more memory than was in use at one time.
#include "transport/mpi/buffer_pool.hpp"

#include <algorithm>

namespace plait::transport::mpi {

Buffer::~Buffer() {
  if (memory_ != nullptr) pool_->give(std::move(memory_), size_);
}

Buffer BufferPool::take(std::size_t size) {
  {
    const std::scoped_lock lock(mutex_);
    used_bytes_ += size;
    most_used_bytes_ = std::max(most_used_bytes_, used_bytes_);
    const auto found =
        std::find_if(kept_.begin(), kept_.end(), [&](const Kept& k) { return k.size == size; });
    if (found != kept_.end()) {
      Buffer buffer(this, std::move(found->memory), size);
      kept_bytes_ -= size;
      kept_.erase(found);
      return buffer;
    }
  }
  return {this, std::make_unique_for_overwrite<std::byte[]>(size), size};
}

void BufferPool::give(std::unique_ptr<std::byte[]> memory, std::size_t size) {
  constexpr std::size_t kLarge = 64 << 10;  // smaller ones are the allocator's business
  const std::scoped_lock lock(mutex_);
  used_bytes_ -= size;
  if (size < kLarge) return;
  kept_.push_back({std::move(memory), size});
  kept_bytes_ += size;
  while (used_bytes_ + kept_bytes_ > most_used_bytes_) {
    kept_bytes_ -= kept_.front().size;
    kept_.pop_front();
  }
}

}  // namespace plait::transport::mpi
