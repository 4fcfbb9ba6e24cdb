#include "base/memory.hpp"

#include <fstream>
#include <string>

namespace plait {

// VmHWM, not getrusage: the latter begins with what the parent held before exec.
std::int64_t peak_memory_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::int64_t kilobytes = 0;
    if (word == "VmHWM:" && status >> kilobytes) return kilobytes * 1024;
  }
  return 0;
}

}  // namespace plait
