// Files and folders that appear whole or not at all: written aside under a hidden name in the same
// directory, synced, renamed, and the directory synced. On an error nothing of the new one stays
// and the old one is untouched. Knows bytes, not checkpoints.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/hash.hpp"

namespace plait {

struct FileSinkSpec {
  std::filesystem::path path;      // created; must not exist yet
  std::filesystem::path shown_as;  // the final path, for messages
  std::uint64_t bytes_needed = 0;  // for the message when the disk is full
};

/// A new file that takes bytes in order, and counts and hashes them. Every error
/// names the path, the reason and the bytes needed: a UserError where the user can mend it (a
/// full disk, no permission), else a Failure.
class FileSink {
 public:
  explicit FileSink(FileSinkSpec spec);
  /// Closes without syncing; the file stays for its owner to rename or remove.
  ~FileSink();
  FileSink(const FileSink&) = delete;
  FileSink& operator=(const FileSink&) = delete;

  void write(const void* data, std::size_t bytes);
  void write(std::string_view text) { write(text.data(), text.size()); }
  /// Syncs and closes: after this the bytes are on the disk.
  void close();

  std::uint64_t bytes() const { return bytes_; }
  std::string hash() const { return hash_.hex(); }

 private:
  [[noreturn]] void fail_with(int error) const;

  FileSinkSpec spec_;
  int fd_ = -1;
  std::uint64_t bytes_ = 0;
  Hash hash_;
};

/// One file: write into sink(), then commit(). Without commit() nothing is left behind.
class AtomicFile {
 public:
  AtomicFile(std::filesystem::path path, std::uint64_t bytes_needed);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  FileSink& sink() { return sink_; }
  void commit();

 private:
  std::filesystem::path path_;
  std::filesystem::path temporary_;
  FileSink sink_;
  bool committed_ = false;
};

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

/// Makes renames and new names in the directory durable.
void sync_directory(const std::filesystem::path& directory);

}  // namespace plait
