// ProfileFile: what `plait profile` measured, as a value and as JSON. The main batch size lies at
// the top level (model, batch, threads, blocks[], loss_ms, step_ms), further ones in `points`.
// Keys this plait does not know are passed over.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace plait::cost {

struct ProfileBlock {
  std::string name{};
  double forward_ms = 0;
  double backward_data_ms = 0;
  double backward_weights_ms = 0;
  double update_ms = 0;
  std::int64_t macs = 0;        ///< forward, whole batch
  std::int64_t parameters = 0;  ///< trainable elements
  std::int64_t dst_bytes = 0;   ///< of the whole batch
  bool operator==(const ProfileBlock&) const = default;
};

/// One batch size.
struct ProfilePoint {
  std::int64_t batch = 0;
  std::vector<ProfileBlock> blocks{};
  std::vector<ProfileBlock> added{};  ///< blocks that a strategy has added to the model's
  double loss_ms = 0;
  double load_ms = 0;
  double step_ms = 0;  ///< by one clock around the step
  bool operator==(const ProfilePoint&) const = default;
};

/// Tasks take `factor` times as long when `workers` workers of a node compute together.
struct ProfileContention {
  int workers = 1;
  double factor = 1;
  bool operator==(const ProfileContention&) const = default;
};

struct ProfileFile {
  std::string model{};
  std::string network_hash{};          ///< empty: not known; only names and sizes are compared
  std::string data_shape{};            ///< "3x32x32"; empty: not known
  int classes = 0;                     ///< 0: not known
  int threads = 1;                     ///< of each worker
  std::int64_t steps = 0;              ///< measured; 0: not known
  std::vector<ProfilePoint> points{};  ///< the first one is the main batch
  ProfileContention contention{};
  double sum_bytes_per_second = 0;  ///< bytes of all arrays added up; 0: not known
  std::string machine{};            ///< processor, cores and program; empty: not known
  std::string measured{};           ///< when, in UTC: "2026-01-31 12:00"; empty: not known
  double noise = 0;                 ///< how far equal steps were apart (run/profile.hpp)
  std::string source{};             ///< where it was read from, for messages; not in the file
  bool operator==(const ProfileFile&) const = default;
};

constexpr const char* kProfileFormat = "plait-profile-1";

/// UserError, one line that opens with `source`: not JSON, a key missing or of another kind, a
/// number that is negative, not finite or absurd, points whose blocks have other names.
ProfileFile parse_profile(std::string_view text, const std::string& source);
ProfileFile read_profile(const std::string& path);

/// One line of JSON without a newline.
std::string print_profile(const ProfileFile& profile);
void write_profile(const ProfileFile& profile, const std::string& path);

}  // namespace plait::cost
