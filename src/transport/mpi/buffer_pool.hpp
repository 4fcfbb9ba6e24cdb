// BufferPool: memory for messages that are read in place. Fresh memory costs several times the copy
// that fills it (the kernel hands it out page by page), and sizes recur with every step, so large
// buffers are kept.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <span>

namespace plait::transport::mpi {

class BufferPool;

/// Goes back to its pool, which must outlive it.
class Buffer {
 public:
  Buffer() = default;
  Buffer(BufferPool* pool, std::unique_ptr<std::byte[]> memory, std::size_t size)
      : pool_(pool), memory_(std::move(memory)), size_(size) {}
  Buffer(Buffer&&) noexcept = default;
  Buffer& operator=(Buffer&&) noexcept = delete;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer();
  std::span<std::byte> bytes() const { return {memory_.get(), size_}; }

 private:
  BufferPool* pool_ = nullptr;
  std::unique_ptr<std::byte[]> memory_;
  std::size_t size_ = 0;
};

/// Keeps no more bytes than were in use at one time.
class BufferPool {
 public:
  Buffer take(std::size_t size);
  void give(std::unique_ptr<std::byte[]> memory, std::size_t size);

 private:
  struct Kept {
    std::unique_ptr<std::byte[]> memory;
    std::size_t size = 0;
  };
  std::mutex mutex_;
  std::deque<Kept> kept_;  ///< the oldest first
  std::size_t kept_bytes_ = 0;
  std::size_t used_bytes_ = 0;
  std::size_t most_used_bytes_ = 0;
};

}  // namespace plait::transport::mpi
