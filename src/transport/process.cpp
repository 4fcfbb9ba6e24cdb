// Reads /proc/PID/stat; the start time tells a process from a later one with the same number.
#include "transport/process.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>

namespace plait::transport {
namespace {

struct Stat {
  char state = 'X';  ///< dead, also where there is no such process
  std::uint64_t began = 0;
};

/// /proc/PID/stat: "pid (name) state ppid ...", field 22 is the start; the name may hold anything,
/// so count from the last bracket.
Stat read_stat(std::int64_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string line;
  std::getline(file, line);
  const std::size_t bracket = line.rfind(')');
  if (bracket == std::string::npos) return {};
  std::istringstream fields(line.substr(bracket + 1));
  Stat stat;
  fields >> stat.state;
  std::string skipped;
  for (int field = 4; field < 22; ++field) fields >> skipped;
  fields >> stat.began;
  return stat;
}

}  // namespace

ProcessId this_process() {
  const std::int64_t pid = getpid();
  return {.pid = pid, .began = read_stat(pid).began};
}

bool alive(const ProcessId& process) {
  const Stat stat = read_stat(process.pid);
  return stat.state != 'X' && stat.state != 'x' && stat.state != 'Z' && stat.began == process.began;
}

}  // namespace plait::transport
