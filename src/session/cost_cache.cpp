// File names from a hash of the key, and the lock that lets only one process measure at a time.
#include "session/cost_cache.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/file.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/hash.hpp"
#include "checkpoint/atomic_file.hpp"
#include "run/cores.hpp"
#include "run/this_machine.hpp"

namespace plait::session {

namespace fs = std::filesystem;

namespace {

constexpr double kLongestWait = 120;  // seconds for another plait that measures

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string text_of(const CostKey& key) {
  return fmt::format("{} {} {} {} {}", key.network_hash, key.input, fmt::join(key.batches, ","),
                     key.threads, key.machine);
}

std::vector<std::int64_t> batches_of(const cost::ProfileFile& profile) {
  std::vector<std::int64_t> batches;
  for (const cost::ProfilePoint& point : profile.points) batches.push_back(point.batch);
  return batches;
}

}  // namespace

fs::path cost_cache_folder() {
  const fs::path given = variable("XDG_CACHE_HOME");
  if (given.is_absolute()) return given / "plait";  // the rule of XDG: others are ignored
  const fs::path home = variable("HOME");
  return home.is_absolute() ? home / ".cache" / "plait" : fs::path();
}

std::string this_machine() {
  return fmt::format("{}, {} core(s), program {}", run::processor_name(), run::usable_cores(),
                     run::program_hash());
}

CostCache::CostCache(fs::path folder) : folder_(std::move(folder)) {
  if (folder_.empty()) {
    problem_ = "there is no cache folder: neither XDG_CACHE_HOME nor HOME is set";
    return;
  }
  std::error_code error;
  fs::create_directories(folder_, error);
  if (!error && access(folder_.c_str(), W_OK | X_OK) != 0) {
    error = std::error_code(errno, std::generic_category());
  }
  if (error) problem_ = fmt::format("{}: {}", folder_.string(), error.message());
}

fs::path CostCache::file_of(const CostKey& key) const {
  Hash hash;
  hash.add(text_of(key));
  return folder_ / fmt::format("costs-{}.json", hash.hex());
}

std::optional<cost::ProfileFile> CostCache::find(const CostKey& key) const {
  const fs::path file = file_of(key);
  std::error_code error;
  if (folder_.empty() || !fs::is_regular_file(file, error)) return std::nullopt;
  try {
    cost::ProfileFile profile = cost::read_profile(file.string());
    const bool same = profile.network_hash == key.network_hash && profile.threads == key.threads &&
                      profile.data_shape == key.input && profile.machine == key.machine &&
                      batches_of(profile) == key.batches;
    if (same) return profile;
  } catch (const UserError&) {  // damaged: it is measured again
  }
  return std::nullopt;
}

void CostCache::keep(const CostKey& key, const cost::ProfileFile& profile) {
  if (!problem_.empty()) return;
  try {
    const std::string text = cost::print_profile(profile) + "\n";
    AtomicFile file(file_of(key), text.size());
    file.sink().write(text);
    file.commit();
  } catch (const std::exception& error) {
    problem_ = error.what();
  }
}

CacheLock::CacheLock(const fs::path& folder) {
  file_ = open((folder / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file_ < 0) return;
  const Stopwatch watch;
  while (flock(file_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    if (watch.seconds() > kLongestWait) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

CacheLock::~CacheLock() {
  if (file_ >= 0) close(file_);
}

}  // namespace plait::session
