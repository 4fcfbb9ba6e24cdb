// The system calls behind out_file.hpp: hidden names, links, fsync, rename, and the flag with which
// a signal ends a long write.
#include "base/out_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/error.hpp"

namespace plait {

namespace fs = std::filesystem;

namespace {

constexpr int kMostLinks = 40;                     // as the kernel
constexpr std::size_t kMostAtOnce = 16ull << 20U;  // a cancelled write ends soon

std::atomic<bool> cancelled{false};  // a signal handler can reach nothing but static storage
static_assert(std::atomic<bool>::is_always_lock_free);

[[noreturn]] void fail_to(const char* what, const fs::path& path, int error) {
  fail("cannot {} '{}': {}", what, path.string(), std::strerror(error));
}

/// 1 or 2 where `file` is what our stdout or stderr goes to (replacing it would lose what is
/// printed there), else -1.
int standard_file(const struct stat& file) {
  for (const int fd : {1, 2}) {
    struct stat own {};
    if (fstat(fd, &own) == 0 && own.st_dev == file.st_dev && own.st_ino == file.st_ino) return fd;
  }
  return -1;
}

/// The target of links, which may not exist yet.
fs::path behind_links(const fs::path& path) {
  fs::path at = path;
  for (int n = 0; n < kMostLinks; ++n) {
    std::error_code error;
    const fs::path to = fs::read_symlink(at, error);
    if (error) return at;
    at = to.is_absolute() ? to : directory_of(at) / to;
  }
  user_error("cannot write '{}': {}; name a file", path.string(), std::strerror(ELOOP));
}

}  // namespace

fs::path directory_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

fs::path hidden_name(const fs::path& path, std::string_view mark) {
  for (int n = 0;; ++n) {
    fs::path hidden =
        directory_of(path) / fmt::format(".{}{}{}-{}", path.filename().string(), mark, getpid(), n);
    struct stat info {};
    if (lstat(hidden.c_str(), &info) != 0) return hidden;
  }
}

OutTarget out_target(const fs::path& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return {.path = behind_links(path)};
  const auto refuse = [&](const char* what) {
    user_error("cannot write '{}': that is {}; name a file", path.string(), what);
  };
  if (const int fd = standard_file(info); fd >= 0) return {.path = path, .standard = fd};
  if (S_ISDIR(info.st_mode)) refuse("a folder");
  if (S_ISBLK(info.st_mode)) refuse("a block device");
  if (S_ISSOCK(info.st_mode)) refuse("a socket");
  if (access(path.c_str(), W_OK) != 0) {
    user_error("cannot write '{}': {}; choose another file", path.string(), std::strerror(errno));
  }
  if (!S_ISREG(info.st_mode)) return {.path = path, .direct = true};
  return {.path = behind_links(path), .mode = info.st_mode & 0777U};
}

FileSink::FileSink(FileSinkSpec spec) : spec_(std::move(spec)) {
  const OutTarget& target = spec_.target;
  const int how = O_WRONLY | O_CLOEXEC | (target.direct ? O_NOCTTY : O_CREAT | O_EXCL);
  fd_ = target.standard >= 0 ? fcntl(target.standard, F_DUPFD_CLOEXEC, 3)
                             : open(target.path.c_str(), how, 0666);
  if (fd_ < 0) fail_with(errno);
  if (target.mode != 0) fchmod(fd_, target.mode);  // where it cannot, the usual ones stay
}

FileSink::~FileSink() {
  if (fd_ >= 0) ::close(fd_);
}

void FileSink::write(const void* data, std::size_t bytes) {
  const char* at = static_cast<const char*>(data);
  for (std::size_t left = bytes; left > 0;) {
    if (cancelled) fail("cannot write '{}': interrupted", spec_.shown_as.string());
    const ssize_t written = ::write(fd_, at, std::min(left, kMostAtOnce));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) fail_with(written < 0 ? errno : ENOSPC);
    at += written;
    left -= static_cast<std::size_t>(written);
  }
  hash_.add(data, bytes);
  bytes_ += bytes;
}

void FileSink::close() {
  if (cancelled) fail("cannot write '{}': interrupted", spec_.shown_as.string());
  // EINVAL: a FIFO or a device, which cannot be synced.
  if (fsync(fd_) != 0 && errno != EINVAL && errno != EROFS) fail_with(errno);
  const int fd = fd_;
  fd_ = -1;
  if (::close(fd) != 0) fail_with(errno);
}

void FileSink::fail_with(int error) const {
  const std::string line =
      fmt::format("cannot write '{}': {} ({} bytes needed); make room or choose another folder",
                  spec_.shown_as.string(), std::strerror(error), spec_.bytes_needed);
  for (int mendable : {ENOSPC, EDQUOT, EFBIG, EACCES, EROFS, ENOENT, ENOTDIR}) {
    if (error == mendable) throw UserError(line);
  }
  throw Failure(line);
}

AtomicFile::AtomicFile(const fs::path& path, std::uint64_t bytes_needed)
    : target_(out_target(path)),
      written_(written()),
      sink_({.target = written_, .shown_as = path, .bytes_needed = bytes_needed}) {}

AtomicFile::~AtomicFile() {
  if (!committed_ && !direct()) unlink(written_.path.c_str());
}

OutTarget AtomicFile::written() const {
  OutTarget written = target_;
  if (!direct()) written.path = hidden_name(target_.path, kWrittenAside);
  return written;
}

void AtomicFile::commit() {
  sink_.close();
  if (direct()) return;
  if (rename(written_.path.c_str(), target_.path.c_str()) != 0) {
    fail_to("put in place", target_.path, errno);
  }
  committed_ = true;
  sync_directory(directory_of(target_.path));
}

void write_out_file(const fs::path& path, std::string_view text) {
  AtomicFile file(path, text.size());
  file.sink().write(text);
  file.commit();
}

void sync_directory(const fs::path& directory) {
  const int fd = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) fail_to("open", directory, errno);
  const int result = fsync(fd);
  const int error = errno;
  ::close(fd);
  // EINVAL: a file system that cannot sync directories.
  if (result != 0 && error != EINVAL) fail_to("sync", directory, error);
}

void cancel_writes() noexcept { cancelled = true; }

}  // namespace plait
