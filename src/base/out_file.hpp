// Files that appear whole or not at all: written aside under a hidden name in the same directory,
// synced, renamed, and the directory synced. On an error nothing of the new file stays and the old
// one is untouched. What is no file keeps its place: a symbolic link stays and its target is
// replaced, a FIFO or a character device is written to directly.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/hash.hpp"

namespace plait {

/// Where the bytes for a path go.
struct OutTarget {
  std::filesystem::path path;  ///< behind all symbolic links
  bool direct = false;         ///< a FIFO or a device: opened and written to, never renamed
  int standard = -1;           ///< our stdout or stderr under another name: written to directly
  unsigned mode = 0;           ///< permissions of the file to replace; 0: there is none
};

/// UserError for a folder, a socket, a block device, a file without permission to write, and links
/// that lead in circles.
OutTarget out_target(const std::filesystem::path& path);

struct FileSinkSpec {
  OutTarget target;                // the file to create, which must not exist yet, unless direct
  std::filesystem::path shown_as;  // the final path, for messages
  std::uint64_t bytes_needed = 0;  // for the message when the disk is full
};

/// Takes bytes in order, and counts and hashes them. Every error names the path, the reason and the
/// bytes needed: a UserError where the user can mend it (a full disk, no permission), else a
/// Failure.
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
  AtomicFile(const std::filesystem::path& path, std::uint64_t bytes_needed);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  FileSink& sink() { return sink_; }
  void commit();

 private:
  bool direct() const { return target_.direct || target_.standard >= 0; }
  /// The target where it is written to directly, else the hidden file beside it.
  OutTarget written() const;

  OutTarget target_;
  OutTarget written_;
  FileSink sink_;
  bool committed_ = false;
};

/// All of it in one AtomicFile.
void write_out_file(const std::filesystem::path& path, std::string_view text);

/// ".NAME`mark`PID-N" in the directory of `path`, the first N that is free: a killed process may
/// have had our pid.
std::filesystem::path hidden_name(const std::filesystem::path& path, std::string_view mark);

/// The mark of what is written aside.
inline constexpr std::string_view kWrittenAside = ".tmp-";

/// "." for a bare name.
std::filesystem::path directory_of(const std::filesystem::path& path);

/// Makes renames and new names in the directory durable.
void sync_directory(const std::filesystem::path& directory);

/// From now on every write throws a Failure, so that what was begun is cleared away. For signal
/// handlers, before the process ends.
void cancel_writes() noexcept;

}  // namespace plait
