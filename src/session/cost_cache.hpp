// Measured costs kept between runs, in the user's cache folder: one file for each network, batch
// sizes, threads and machine. Knows files, not what is measured.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "cost/profile_file.hpp"

namespace plait::session {

/// $XDG_CACHE_HOME/plait, else ~/.cache/plait; empty where neither is known.
std::filesystem::path cost_cache_folder();

/// Processor, cores and this build of the program: what is measured here holds nowhere else.
std::string this_machine();

/// What measured costs are of.
struct CostKey {
  std::string network_hash;
  std::string input;
  std::vector<std::int64_t> batches;
  int threads = 1;
  std::string machine;
};

class CostCache {
 public:
  /// Makes the folder.
  explicit CostCache(std::filesystem::path folder);

  /// Why nothing can be kept there; "" where it can.
  const std::string& problem() const { return problem_; }
  std::filesystem::path file_of(const CostKey& key) const;
  /// Nothing where there is no such file, where it is damaged, or where it is of something else.
  std::optional<cost::ProfileFile> find(const CostKey& key) const;
  /// Written aside and renamed. Sets problem() where that fails.
  void keep(const CostKey& key, const cost::ProfileFile& profile);

 private:
  std::filesystem::path folder_;
  std::string problem_;
};

/// While it lives no other plait measures for this cache: two at once would disturb each other, and
/// the second shall find what the first has measured. Does not wait for ever.
class CacheLock {
 public:
  explicit CacheLock(const std::filesystem::path& folder);
  ~CacheLock();
  CacheLock(const CacheLock&) = delete;
  CacheLock& operator=(const CacheLock&) = delete;

 private:
  int file_ = -1;
};

}  // namespace plait::session
