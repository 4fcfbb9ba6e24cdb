#include "base/memory.hpp"

#include <sys/resource.h>

namespace plait {

std::int64_t peak_memory_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return std::int64_t{usage.ru_maxrss} * 1024;  // Linux counts in KiB
}

}  // namespace plait
