// The same work for many numbers, on several threads.
#pragma once

#include <cstdint>
#include <functional>

namespace plait::data {

/// Calls work(0) .. work(count - 1), each once, on up to `threads` threads. What it throws is
/// thrown here, of several the one with the lowest number: like a loop, whatever the threads.
void for_each_on(int threads, std::int64_t count, const std::function<void(std::int64_t)>& work);

}  // namespace plait::data
