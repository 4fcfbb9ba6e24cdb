// Runs a program and gives back what it printed and how it ended. Never hangs: a timeout kills it,
// and whatever it started.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "cli/process_table.hpp"
#include "temp_folder.hpp"

namespace plait::cli {

using Words = std::vector<std::string>;

/// A flag of `more` replaces the same flag of `words` with its value: plait takes each flag once.
inline Words operator+(Words words, const Words& more) {
  for (const std::string& flag : more) {
    if (!flag.starts_with("--") || flag.find('=') != std::string::npos) continue;
    const std::string other =
        flag.starts_with("--no-") ? "--" + flag.substr(5) : "--no-" + flag.substr(2);
    const auto found = std::ranges::find_if(
        words, [&](const std::string& word) { return word == flag || word == other; });
    if (found == words.end()) continue;
    const bool has_value = found + 1 != words.end() && !(found + 1)->starts_with("--");
    words.erase(found, found + (has_value ? 2 : 1));
  }
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

struct Process {
  Words command;
  std::filesystem::path directory;  ///< where it runs
  std::vector<std::pair<std::string, std::string>> environment{};
  double timeout_seconds = 300;
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

class SinceNow {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// The command as typed, but plait plans with counted costs where the test does not say otherwise:
/// measuring takes time, and plans would follow the noise of the machine.
inline Words with_counted_costs(const Words& command) {
  const auto has = [&](const char* word) {
    return std::ranges::find(command, word) != command.end();
  };
  if (has("--cost") || has("--profile") || has("--resume") || has("--help")) return command;
  Words words;
  for (std::size_t i = 0; i < command.size(); ++i) {
    words.push_back(command[i]);
    const bool plans = command[i] == "train" || (command[i] == "plan" && !has("--plan"));
    if (plans && i > 0 && command[i - 1] == PLAIT_BINARY)
      words = words + Words{"--cost", "analytic"};
  }
  return words;
}

/// A process under way; ends with this object.
class Running {
 public:
  explicit Running(const Process& process) : process_(process), pid_(fork()) {
    if (pid_ == 0) become();
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running() {
    if (!has_ended()) wait(0);
  }

  pid_t pid() const { return pid_; }
  /// What has come on stderr so far.
  std::string err() const { return read_text(capture_.path() / "err"); }

  bool has_ended() {
    int status = 0;
    if (ended_ || waitpid(pid_, &status, WNOHANG) == 0) return ended_;
    ended_ = true;
    result_.seconds = began_.seconds();
    if (WIFEXITED(status)) result_.exit_code = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) result_.signal = WTERMSIG(status);
    result_.out = read_text(capture_.path() / "out");
    result_.err = err();
    return true;
  }

  /// Calls `each` every millisecond until the end.
  template <class Each>
  Ended wait(double timeout_seconds, const Each& each) {
    while (!has_ended()) {
      each();
      if (began_.seconds() > timeout_seconds && !result_.timed_out) {
        result_.timed_out = true;
        kill_tree(pid_);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return result_;
  }
  Ended wait(double timeout_seconds) {
    return wait(timeout_seconds, [] {});
  }
  Ended wait() { return wait(process_.timeout_seconds); }

 private:
  [[noreturn]] void become() const {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int out = open((capture_.path() / "out").c_str(), O_WRONLY | O_CREAT, 0600);
    const int err = open((capture_.path() / "err").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    dup2(open("/dev/null", O_RDONLY), 0);
    dup2(out, 1);
    dup2(err, 2);
    ::signal(SIGINT, SIG_DFL);  // a test run in the background would hand down SIG_IGN
    if (process_.file_size_limit != RLIM_INFINITY) {
      ::signal(SIGXFSZ, SIG_IGN);
      const rlimit limit{process_.file_size_limit, process_.file_size_limit};
      setrlimit(RLIMIT_FSIZE, &limit);
    }
    // A cache of its own, not the user's; where a test measures, it lasts as long as its folder.
    setenv("XDG_CACHE_HOME", (process_.directory / ".cache").c_str(), 1);
    for (const auto& [name, value] : process_.environment) setenv(name.c_str(), value.c_str(), 1);
    std::vector<char*> words;
    const Words command = with_counted_costs(process_.command);
    for (const std::string& word : command) {
      words.push_back(const_cast<char*>(word.c_str()));
    }
    words.push_back(nullptr);
    if (chdir(process_.directory.c_str()) == 0) execv(words[0], words.data());
    _exit(127);
  }

  Process process_;
  TempFolder capture_;
  SinceNow began_;
  pid_t pid_;
  bool ended_ = false;
  Ended result_;
};

inline Ended run(const Process& process) {
  Running running(process);
  SinceNow armed;
  bool waits_for_file = !process.signal_file.empty();
  bool signalled = process.signal == 0;
  return running.wait(process.timeout_seconds, [&] {
    if (waits_for_file && std::filesystem::exists(process.signal_file)) {
      waits_for_file = false;
      armed = SinceNow();
    }
    if (signalled || waits_for_file || armed.seconds() < process.signal_after_seconds) return;
    kill(running.pid(), process.signal);
    signalled = true;
  });
}

/// The program under test, in `directory`.
inline Process plait_process(const std::filesystem::path& directory, const Words& words) {
  return {.command = Words{PLAIT_BINARY} + words, .directory = directory};
}

inline Ended run_plait(const std::filesystem::path& directory, const Words& words) {
  return run(plait_process(directory, words));
}

/// The lines of `text` that begin with "plait: ": what the program itself had to say.
inline Words plait_lines(const std::string& text) {
  Words lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    if (text.compare(begin, 7, "plait: ") == 0) lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

}  // namespace plait::cli
