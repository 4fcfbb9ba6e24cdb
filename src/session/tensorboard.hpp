// Numbers over steps as TensorBoard reads them: an event file is a row of records (length, masked
// CRC-32C of the length, bytes, masked CRC-32C of the bytes), each an Event message of TensorFlow's
// event.proto. Only its fields wall_time, step, file_version, summary and session_log are written.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace plait::session {

struct Scalar {
  std::string name;
  double value = 0;
};

class Tensorboard {
 public:
  /// A new events.out.tfevents.* file in the folder. Where other files are there already, it tells
  /// TensorBoard to forget what they hold of steps after `after_step`. Failure where it cannot be
  /// written.
  Tensorboard(const std::filesystem::path& folder, std::int64_t after_step);

  void write(const std::vector<Scalar>& scalars, std::int64_t step);
  const std::filesystem::path& path() const { return path_; }

 private:
  void record(const std::string& event);

  std::filesystem::path path_;
  std::ofstream file_;
};

/// CRC-32C (Castagnoli), as in iSCSI.
std::uint32_t crc32c(std::string_view bytes);

}  // namespace plait::session
