// Threads that take the next number until there is none.
#include "data/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace plait::data {

void for_each_on(int threads, std::int64_t count, const std::function<void(std::int64_t)>& work) {
  if (threads <= 1 || count <= 1) {
    for (std::int64_t i = 0; i < count; ++i) work(i);
    return;
  }
  std::atomic<std::int64_t> next = 0;
  std::mutex mutex;
  std::int64_t failed = count;
  std::exception_ptr error;
  const auto run = [&] {
    for (std::int64_t i = next++; i < count; i = next++) {
      try {
        work(i);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (i < failed) {
          failed = i;
          error = std::current_exception();
        }
        next = count;  // numbers below i have begun, and may still fail
      }
    }
  };
  std::vector<std::jthread> others;
  const auto wanted = std::min<std::int64_t>(threads, count) - 1;
  for (std::int64_t i = 0; i < wanted; ++i) others.emplace_back(run);
  run();
  others.clear();
  if (error) std::rethrow_exception(error);
}

}  // namespace plait::data
