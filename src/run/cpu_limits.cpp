// Reads affinity masks and cgroup files, versions 1 and 2.
#include "run/cpu_limits.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>
#include <vector>

namespace plait::run {

namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Version 2, cpu.max: "QUOTA PERIOD", or "max PERIOD".
double quota_v2(const fs::path& folder) {
  std::istringstream words(text_of(folder / "cpu.max"));
  double quota = 0;
  double period = 0;
  return words >> quota >> period && quota > 0 && period > 0 ? quota / period : kNoQuota;
}

/// Version 1: a quota of -1 is none.
double quota_v1(const fs::path& folder) {
  std::istringstream words(text_of(folder / "cpu.cfs_quota_us") + " " +
                           text_of(folder / "cpu.cfs_period_us"));
  double quota = 0;
  double period = 0;
  return words >> quota >> period && quota > 0 && period > 0 ? quota / period : kNoQuota;
}

/// The least of `folder` and all between it and `top`; a folder that is not visible from here (of
/// another namespace) limits nothing.
double least(const fs::path& top, const std::string& path, double (*quota)(const fs::path&)) {
  double result = quota(top);
  fs::path folder = top;
  for (const fs::path& part : fs::path(path).relative_path()) {
    folder /= part;
    result = std::min(result, quota(folder));
  }
  return result;
}

}  // namespace

const cpu_set_t& initial_affinity() {
  static const cpu_set_t mask = [] {
    cpu_set_t now;
    CPU_ZERO(&now);
    sched_getaffinity(0, sizeof now, &now);  // empty on failure: callers take all then
    return now;
  }();
  return mask;
}

cpu_set_t affinity_of_node(transport::Group& control) {
  const cpu_set_t mine = initial_affinity();
  std::vector<cpu_set_t> all(static_cast<std::size_t>(control.size()));
  control.all_gather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)));
  cpu_set_t node = mine;
  for (int member = 0; member < control.size(); ++member) {
    if (control.node(member) != control.node(control.rank())) continue;
    CPU_OR(&node, &node, &all[static_cast<std::size_t>(member)]);
  }
  return node;
}

/// Lines "ID:CONTROLLERS:PATH"; version 2 has ID 0 and no controllers.
double cgroup_quota(const std::string& groups, const fs::path& mount) {
  double result = kNoQuota;
  std::istringstream lines(groups);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    if (controllers.empty()) {
      result = std::min(result, least(mount, path, quota_v2));
    } else if (("," + controllers + ",").find(",cpu,") != std::string::npos) {
      result = std::min(result, least(mount / controllers, path, quota_v1));
      result = std::min(result, least(mount / "cpu", path, quota_v1));
    }
  }
  return result;
}

double cpu_quota() { return cgroup_quota(text_of("/proc/self/cgroup"), "/sys/fs/cgroup"); }

}  // namespace plait::run
