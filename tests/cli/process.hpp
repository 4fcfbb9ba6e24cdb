// Runs a program and gives back what it printed and how it ended. Never hangs: a timeout kills it.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "checkpoint/temp_folder.hpp"

namespace plait {

struct Process {
  std::vector<std::string> command;
  std::filesystem::path directory;  ///< where it runs
  std::vector<std::pair<std::string, std::string>> environment{};
  double timeout_seconds = 120;
  int signal = 0;                   ///< sent once, 0: none
  double signal_after_seconds = 0;  ///< counted from the start or, with a file, from its appearance
  std::filesystem::path signal_file{};
  rlim_t file_size_limit = RLIM_INFINITY;  ///< writes beyond it fail with EFBIG
};

struct Ended {
  int exit_code = -1;  ///< -1 after a signal
  int signal = 0;
  bool timed_out = false;
  double seconds = 0;
  std::string out;
  std::string err;
};

namespace process_detail {

[[noreturn]] inline void become(const Process& process, const TempFolder& capture) {
  const int out = open((capture.path() / "out").c_str(), O_WRONLY | O_CREAT, 0600);
  const int err = open((capture.path() / "err").c_str(), O_WRONLY | O_CREAT, 0600);
  dup2(open("/dev/null", O_RDONLY), 0);
  dup2(out, 1);
  dup2(err, 2);
  ::signal(SIGINT, SIG_DFL);  // a test run in the background would hand down SIG_IGN
  if (process.file_size_limit != RLIM_INFINITY) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{process.file_size_limit, process.file_size_limit};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  for (const auto& [name, value] : process.environment) setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> words;
  for (const std::string& word : process.command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  if (chdir(process.directory.c_str()) == 0) execv(words[0], words.data());
  _exit(127);
}

}  // namespace process_detail

inline Ended run(const Process& process) {
  using Clock = std::chrono::steady_clock;
  const auto seconds_since = [](Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  };
  const TempFolder capture;
  const pid_t child = fork();
  if (child == 0) process_detail::become(process, capture);
  Ended ended;
  const Clock::time_point begin = Clock::now();
  Clock::time_point armed = begin;
  bool waits_for_file = !process.signal_file.empty();
  bool signalled = process.signal == 0;
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (waits_for_file && std::filesystem::exists(process.signal_file)) {
      waits_for_file = false;
      armed = Clock::now();
    }
    if (!signalled && !waits_for_file && seconds_since(armed) >= process.signal_after_seconds) {
      kill(child, process.signal);
      signalled = true;
    }
    if (seconds_since(begin) > process.timeout_seconds && !ended.timed_out) {
      kill(child, SIGKILL);
      ended.timed_out = true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  ended.seconds = seconds_since(begin);
  if (WIFEXITED(status)) ended.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) ended.signal = WTERMSIG(status);
  ended.out = read_text(capture.path() / "out");
  ended.err = read_text(capture.path() / "err");
  return ended;
}

/// The program under test, in `directory`.
inline Process plait_process(const std::filesystem::path& directory,
                             const std::vector<std::string>& words) {
  Process process{.command = {PLAIT_BINARY}, .directory = directory};
  process.command.insert(process.command.end(), words.begin(), words.end());
  return process;
}

inline Ended run_plait(const std::filesystem::path& directory,
                       const std::vector<std::string>& words) {
  return run(plait_process(directory, words));
}

}  // namespace plait
