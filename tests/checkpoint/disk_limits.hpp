// A child process on a bad disk: under a file size limit, or on a small tmpfs in a mount namespace
// of its own. What it threw, and what it saw afterwards, come back as text.
#pragma once

#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <filesystem>
#include <string>

namespace plait::checkpoint {

/// Each enter() gives "" or the reason why it cannot.
struct FileSizeLimit {
  rlim_t bytes;
  std::string enter() const {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{bytes, bytes};
    return setrlimit(RLIMIT_FSIZE, &limit) == 0 ? "" : std::strerror(errno);
  }
};

struct SmallDisk {
  std::filesystem::path at;
  std::string size;
  std::string enter() const {
    const std::string options = "size=" + size;
    const bool mounted = unshare(CLONE_NEWNS) == 0 &&
                         mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                         mount("tmpfs", at.c_str(), "tmpfs", 0, options.c_str()) == 0;
    return mounted ? "" : std::strerror(errno);
  }
};

/// What `work` threw or, if it returns a string, that; "cannot: ..." when the limit cannot be set.
template <class Limit, class Work>
std::string message_in_child(const Limit& limit, const Work& work) {
  int ends[2];
  if (pipe(ends) != 0) return "pipe";
  const pid_t child = fork();
  if (child == 0) {
    std::string message = limit.enter();
    if (!message.empty()) {
      message = "cannot: " + message;
    } else {
      try {
        if constexpr (std::is_void_v<decltype(work())>) {
          work();
          message = "nothing thrown";
        } else {
          message = work();
        }
      } catch (const std::exception& error) {
        message = error.what();
      }
    }
    const ssize_t written = write(ends[1], message.data(), message.size());
    _exit(written == static_cast<ssize_t>(message.size()) ? 0 : 1);
  }
  close(ends[1]);
  std::string message(4096, '\0');
  std::size_t size = 0;
  for (ssize_t got = 1; got > 0; size += static_cast<std::size_t>(got)) {
    got = read(ends[0], message.data() + size, message.size() - size);
    if (got < 0) break;
  }
  close(ends[0]);
  waitpid(child, nullptr, 0);
  message.resize(size);
  return message;
}

}  // namespace plait::checkpoint
