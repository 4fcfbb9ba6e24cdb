// The processes of this machine, from /proc: who is whose child, who is still there.
#pragma once

#include <signal.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace plait::cli {

struct ProcessEntry {
  pid_t pid = 0;
  pid_t parent = 0;
  char state = 'X';
  std::string began{};  ///< a number given to another process later has another one
};

/// state 'X' where there is none.
inline ProcessEntry process_entry(pid_t pid) {
  ProcessEntry entry{.pid = pid};
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  std::getline(file, line);
  const std::size_t bracket = line.rfind(')');  // the name may hold anything
  if (bracket == std::string::npos) return entry;
  std::istringstream fields(line.substr(bracket + 1));
  fields >> entry.state >> entry.parent;
  for (int field = 5; field <= 22; ++field) fields >> entry.began;
  return entry;
}

inline std::vector<ProcessEntry> children_of(pid_t parent) {
  std::vector<ProcessEntry> children;
  for (const auto& folder : std::filesystem::directory_iterator("/proc")) {
    const std::string name = folder.path().filename().string();
    pid_t pid = 0;
    const auto [stop, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error != std::errc() || *stop != '\0') continue;
    const ProcessEntry entry = process_entry(pid);
    if (entry.state != 'X' && entry.parent == parent) children.push_back(entry);
  }
  return children;
}

/// Zombies do not count: their end is only not yet noticed.
inline bool still_there(const ProcessEntry& process) {
  const ProcessEntry now = process_entry(process.pid);
  return now.began == process.began && now.state != 'X' && now.state != 'Z';
}

inline void kill_tree(pid_t pid) {
  const std::vector<ProcessEntry> children = children_of(pid);
  kill(pid, SIGKILL);
  for (const ProcessEntry& child : children) kill_tree(child.pid);
}

}  // namespace plait::cli
