// Memory from /proc/meminfo, /proc/self/status and the control groups (versions 1 and 2) that limit
// this process.
#include "base/memory.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

namespace plait {

namespace {

namespace fs = std::filesystem;

/// A file that holds one number; none where it says "max" or cannot be read.
std::optional<std::int64_t> number_in(const fs::path& file) {
  std::ifstream in(file);
  std::int64_t number = 0;
  return in >> number ? std::optional(number) : std::nullopt;
}

/// The number behind a word of /proc/meminfo or /proc/self/status; 0 where there is none.
std::int64_t kilobytes_of(const char* file, const char* name) {
  std::ifstream in(file);
  for (std::string word; in >> word;) {
    std::int64_t kilobytes = 0;
    if (word == name && in >> kilobytes) return kilobytes;
  }
  return 0;
}

/// Limit and use of one control group; the page cache that it can give back counts as free.
struct GroupFiles {
  const char* limit;
  const char* used;
  const char* cache;  ///< a word of memory.stat
};
constexpr GroupFiles kVersion2{"memory.max", "memory.current", "inactive_file"};
constexpr GroupFiles kVersion1{"memory.limit_in_bytes", "memory.usage_in_bytes",
                               "total_inactive_file"};

std::int64_t cached_in(const fs::path& group, const char* name) {
  std::ifstream in(group / "memory.stat");
  for (std::string word; in >> word;) {
    std::int64_t bytes = 0;
    if (word == name && in >> bytes) return bytes;
  }
  return 0;
}

/// The least that the group and those around it leave.
void least_of_groups(const fs::path& root, std::string group, const GroupFiles& files,
                     std::int64_t& least) {
  while (true) {
    const fs::path folder = root / fs::path(group).relative_path();
    const auto limit = number_in(folder / files.limit);
    const auto used = number_in(folder / files.used);
    if (limit && used) {
      const std::int64_t free = *limit - *used + cached_in(folder, files.cache);
      least = std::min(least, std::max<std::int64_t>(free, 0));
    }
    const std::size_t slash = group.find_last_of('/');
    if (slash == std::string::npos) return;
    group.resize(slash);
  }
}

}  // namespace

std::int64_t available_memory_bytes() {
  std::int64_t least = kilobytes_of("/proc/meminfo", "MemAvailable:") * 1024;
  if (least == 0) return 0;
  std::ifstream groups("/proc/self/cgroup");  // lines of number:controllers:path
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    if (controllers.empty()) least_of_groups("/sys/fs/cgroup", path, kVersion2, least);
    if (controllers == "memory") least_of_groups("/sys/fs/cgroup/memory", path, kVersion1, least);
  }
  return least;
}

// VmHWM, not getrusage: the latter begins with what the parent held before exec.
std::int64_t peak_memory_bytes() { return kilobytes_of("/proc/self/status", "VmHWM:") * 1024; }

std::int64_t resident_memory_bytes() { return kilobytes_of("/proc/self/status", "VmRSS:") * 1024; }

}  // namespace plait
