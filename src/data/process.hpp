// Process: runs another program to its end, without a shell.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace plait::data {

struct OtherProgram {
  /// Found on PATH; arguments are handed over as they are.
  std::vector<std::string> arguments;
  std::filesystem::path working_dir;
  /// Both output streams of the program.
  std::filesystem::path log_file;
  int timeout_seconds = 600;
};

/// Whether `program` is an executable on PATH.
bool on_path(const std::string& program);

/// Failure with the last line of the program's output unless it ends with 0 in time.
void run_command(const OtherProgram& command);

}  // namespace plait::data
