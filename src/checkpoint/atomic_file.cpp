#include "checkpoint/atomic_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <vector>

#include "base/error.hpp"

namespace plait {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kTemporary = ".tmp-";
constexpr std::string_view kReplaced = ".old-";

fs::path directory_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

/// ".NAME.tmp-PID-N" in the directory of `path`, the first N that is free: a killed process may
/// have had our pid.
fs::path hidden_name(const fs::path& path, std::string_view mark) {
  for (int n = 0;; ++n) {
    fs::path hidden =
        directory_of(path) / fmt::format(".{}{}{}-{}", path.filename().string(), mark, getpid(), n);
    struct stat info {};
    if (lstat(hidden.c_str(), &info) != 0) return hidden;
  }
}

/// The visible name in ".NAME.tmp-PID-N"; empty when `hidden` is not of this kind.
std::string visible_name(const std::string& hidden, std::string_view mark) {
  const std::size_t at = hidden.rfind(mark);
  if (hidden.empty() || hidden[0] != '.' || at == std::string::npos || at < 2) return {};
  const std::string rest = hidden.substr(at + mark.size());
  if (rest.empty() || rest.find_first_not_of("0123456789-") != std::string::npos) return {};
  return hidden.substr(1, at - 1);
}

[[noreturn]] void fail_to(const char* what, const fs::path& path, int error) {
  fail("cannot {} '{}': {}", what, path.string(), std::strerror(error));
}

void rename_or_fail(const fs::path& from, const fs::path& to) {
  if (rename(from.c_str(), to.c_str()) != 0) fail_to("put in place", to, errno);
}

}  // namespace

FileSink::FileSink(FileSinkSpec spec) : spec_(std::move(spec)) {
  fd_ = open(spec_.path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd_ < 0) fail_with(errno);
}

FileSink::~FileSink() {
  if (fd_ >= 0) ::close(fd_);
}

void FileSink::write(const void* data, std::size_t bytes) {
  const char* at = static_cast<const char*>(data);
  for (std::size_t left = bytes; left > 0;) {
    const ssize_t written = ::write(fd_, at, left);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) fail_with(written < 0 ? errno : ENOSPC);
    at += written;
    left -= static_cast<std::size_t>(written);
  }
  hash_.add(data, bytes);
  bytes_ += bytes;
}

void FileSink::close() {
  if (fsync(fd_) != 0) fail_with(errno);
  const int fd = fd_;
  fd_ = -1;
  if (::close(fd) != 0) fail_with(errno);
}

void FileSink::fail_with(int error) const {
  const std::string line =
      fmt::format("cannot write '{}': {} ({} bytes needed); make room or choose another folder",
                  spec_.shown_as.string(), std::strerror(error), spec_.bytes_needed);
  for (int mendable : {ENOSPC, EDQUOT, EFBIG, EACCES, EROFS}) {
    if (error == mendable) throw UserError(line);
  }
  throw Failure(line);
}

AtomicFile::AtomicFile(fs::path path, std::uint64_t bytes_needed)
    : path_(std::move(path)),
      temporary_(hidden_name(path_, kTemporary)),
      sink_({.path = temporary_, .shown_as = path_, .bytes_needed = bytes_needed}) {}

AtomicFile::~AtomicFile() {
  if (!committed_) unlink(temporary_.c_str());
}

void AtomicFile::commit() {
  sink_.close();
  rename_or_fail(temporary_, path_);
  committed_ = true;
  sync_directory(directory_of(path_));
}

AtomicFolder::AtomicFolder(fs::path path, std::uint64_t bytes_needed)
    : path_(std::move(path)),
      temporary_(hidden_name(path_, kTemporary)),
      bytes_needed_(bytes_needed) {
  if (mkdir(temporary_.c_str(), 0777) != 0) {
    fail("cannot write '{}': {} ({} bytes needed); make room or choose another folder",
         path_.string(), std::strerror(errno), bytes_needed_);
  }
}

AtomicFolder::~AtomicFolder() {
  std::error_code ignored;
  fs::remove_all(temporary_, ignored);
}

FileSink AtomicFolder::create(const std::string& name) const {
  return FileSink(
      {.path = temporary_ / name, .shown_as = path_ / name, .bytes_needed = bytes_needed_});
}

void AtomicFolder::commit(Replace replace) {
  sync_directory(temporary_);
  if (rename(temporary_.c_str(), path_.c_str()) != 0) {
    if (errno != ENOTEMPTY && errno != EEXIST) fail_to("put in place", path_, errno);
    replace_existing(replace);
  }
  sync_directory(directory_of(path_));
}

void AtomicFolder::replace_existing(Replace replace) {
  if (replace == Replace::exchange) {
    // Afterwards temporary_ names the old folder, which the destructor removes.
    const int result =
        renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, path_.c_str(), RENAME_EXCHANGE);
    if (result == 0) return;
    if (errno != EINVAL && errno != ENOSYS) fail_to("replace", path_, errno);
  }
  const fs::path old = hidden_name(path_, kReplaced);
  rename_or_fail(path_, old);
  if (rename(temporary_.c_str(), path_.c_str()) != 0) {
    const int error = errno;
    rename_or_fail(old, path_);
    fail_to("replace", path_, error);
  }
  sync_directory(directory_of(path_));
  std::error_code ignored;
  fs::remove_all(old, ignored);
}

void remove_folder(const fs::path& path) {
  const fs::path hidden = hidden_name(path, kTemporary);
  if (rename(path.c_str(), hidden.c_str()) != 0) fail_to("remove", path, errno);
  std::error_code ignored;  // what stays is hidden, and goes with the next remove_leftovers()
  fs::remove_all(hidden, ignored);
}

void remove_leftovers(const fs::path& directory) {
  std::vector<fs::path> entries;
  for (const auto& entry : fs::directory_iterator(directory)) entries.push_back(entry.path());
  for (const fs::path& path : entries) {
    const std::string name = path.filename().string();
    const std::string replaced = visible_name(name, kReplaced);
    std::error_code ignored;
    if (!replaced.empty() && !fs::exists(directory / replaced, ignored)) {
      rename_or_fail(path, directory / replaced);
    } else if (!replaced.empty() || !visible_name(name, kTemporary).empty()) {
      fs::remove_all(path, ignored);
    }
  }
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

}  // namespace plait
