// Folders that appear whole or not at all, like the files of base/out_file.hpp: written aside under
// a hidden name in the same directory, synced, renamed. On an error nothing of the new one stays
// and the old one is untouched. Knows bytes, not checkpoints.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/out_file.hpp"

namespace plait::checkpoint {

/// How a folder that exists already is replaced: in one step, or (file systems without
/// RENAME_EXCHANGE) by two renames, of which remove_leftovers() mends an interrupted one.
enum class Replace { exchange, two_renames };

/// A folder of files: create() and close() each file, then commit().
class AtomicFolder {
 public:
  AtomicFolder(std::filesystem::path path, std::uint64_t bytes_needed);
  ~AtomicFolder();
  AtomicFolder(const AtomicFolder&) = delete;
  AtomicFolder& operator=(const AtomicFolder&) = delete;

  FileSink create(const std::string& name) const;
  void commit(Replace replace = Replace::exchange);

 private:
  void replace_existing(Replace replace);

  std::filesystem::path path_;
  std::filesystem::path temporary_;
  std::uint64_t bytes_needed_;
};

/// Makes the folder vanish from its directory at once, then deletes what it held.
void remove_folder(const std::filesystem::path& path);

/// Removes what killed writers left aside in `directory`, and brings back a folder whose
/// replacement was interrupted between two renames. Only when nobody else writes there.
void remove_leftovers(const std::filesystem::path& directory);

}  // namespace plait::checkpoint
