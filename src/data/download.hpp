// Download: one HTTP(S) transfer into a file, going on where an earlier one stopped. Knows nothing
// of checksums or datasets.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace plait::data {

/// (bytes so far, total); total is 0 while unknown. Called from the thread that downloads.
using TransferProgress = std::function<void(std::int64_t bytes, std::int64_t total)>;

struct TransferOptions {
  int connect_timeout_seconds = 15;
  /// Give up when nothing arrived for so long.
  int stall_seconds = 30;
  /// Refuse files above this.
  std::int64_t max_bytes = std::int64_t{1} << 34;
  TransferProgress progress{};
};

/// What a transfer came to. Anything but `done` leaves the bytes that arrived in the file.
struct TransferResult {
  enum class Status { done, retry, refused };
  Status status = Status::done;
  /// Began behind bytes that were in the file before.
  bool resumed = false;
  /// One line for the user unless done: what the server or the network said.
  std::string problem{};
};

/// Appends to `file` with a Range request when it already holds bytes, and starts over when the
/// server does not play along. `retry`: another attempt may succeed; `refused`: it will not (404,
/// too large).
TransferResult download(const std::string& url, const std::filesystem::path& file,
                        const TransferOptions& options);

}  // namespace plait::data
