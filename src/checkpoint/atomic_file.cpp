// The system calls behind atomic_file.hpp: hidden folders, rename, replacing an existing folder,
// and removal of what a killed process left.
#include "checkpoint/atomic_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <vector>

#include "base/error.hpp"

namespace plait::checkpoint {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kReplaced = ".old-";

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

AtomicFolder::AtomicFolder(fs::path path, std::uint64_t bytes_needed)
    : path_(std::move(path)),
      temporary_(hidden_name(path_, kWrittenAside)),
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
  return FileSink({.target = {.path = temporary_ / name},
                   .shown_as = path_ / name,
                   .bytes_needed = bytes_needed_});
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
  const fs::path hidden = hidden_name(path, kWrittenAside);
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
    } else if (!replaced.empty() || !visible_name(name, kWrittenAside).empty()) {
      fs::remove_all(path, ignored);
    }
  }
}

}  // namespace plait::checkpoint
