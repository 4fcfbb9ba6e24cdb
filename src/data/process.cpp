// posix_spawn of another program with its output in a log file and a deadline.
#include "data/process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/clock.hpp"
#include "base/error.hpp"

namespace plait::data {

namespace {

class FileActions {
 public:
  FileActions() { posix_spawn_file_actions_init(&actions_); }
  ~FileActions() { posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  posix_spawn_file_actions_t* get() { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

std::string last_line(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string last;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty()) last = line;
  }
  return last.substr(0, 200);
}

/// The wait status; kills the process at the deadline.
int wait_for(pid_t pid, const OtherProgram& command) {
  const Stopwatch watch;
  int status = 0;
  while (true) {
    const pid_t ended = waitpid(pid, &status, WNOHANG);
    if (ended == pid) return status;
    if (ended < 0 && errno != EINTR) fail("{}: lost track of the process", command.arguments[0]);
    if (watch.seconds() > command.timeout_seconds) {
      kill(pid, SIGKILL);
      waitpid(pid, &status, 0);
      fail("{}: did not end within {} s", command.arguments[0], command.timeout_seconds);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

}  // namespace

bool on_path(const std::string& program) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (!folder.empty() && access((folder + "/" + program).c_str(), X_OK) == 0) return true;
  }
  return false;
}

void run_command(const OtherProgram& command) {
  std::vector<char*> argv;
  for (const std::string& argument : command.arguments) {
    argv.push_back(const_cast<char*>(argument.c_str()));
  }
  argv.push_back(nullptr);
  FileActions actions;
  posix_spawn_file_actions_addchdir_np(actions.get(), command.working_dir.c_str());
  posix_spawn_file_actions_addopen(actions.get(), STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(actions.get(), STDOUT_FILENO, command.log_file.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(actions.get(), STDOUT_FILENO, STDERR_FILENO);
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, argv[0], actions.get(), nullptr, argv.data(), environ);
  if (error != 0) fail("{}: cannot be started ({})", command.arguments[0], std::strerror(error));
  const int status = wait_for(pid, command);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    fail("{} {} failed (status {}): {}", command.arguments[0],
         command.arguments.size() > 1 ? command.arguments[1] : "",
         WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status), last_line(command.log_file));
  }
}

}  // namespace plait::data
