// Counter-based random numbers (Philox 4x32-10): a stream is named by (seed, purpose, a, b), so the
// n-th number of a stream never depends on other draws. No global state.
#pragma once

#include <array>
#include <cstdint>

namespace plait {

/// What a stream is for; streams of different purposes never overlap.
enum class Purpose : std::uint32_t {
  init = 1,
  shuffle = 2,
  augment = 3,
  dropout = 4,
  draw = 5,
  test = 6
};

class Rng {
 public:
  /// `a` and `b` name the stream within the purpose: (epoch, sample), (block, step), ...
  Rng(std::uint64_t seed, Purpose purpose, std::uint64_t a = 0, std::uint64_t b = 0);

  std::uint32_t next_u32();
  /// Uniform in [0, 1), 24 bits.
  float uniform();
  float uniform(float low, float high) { return low + (high - low) * uniform(); }
  /// Standard normal (Box-Muller).
  float normal();
  /// Uniform in [0, n) without modulo bias; n > 0.
  std::uint32_t below(std::uint32_t n);

 private:
  std::array<std::uint32_t, 2> key_;
  std::array<std::uint32_t, 4> counter_;
  std::array<std::uint32_t, 4> block_{};
  unsigned used_ = 4;
  bool has_spare_normal_ = false;
  float spare_normal_ = 0;
};

/// One Philox 4x32-10 block: the whole generator as a pure function.
std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                    std::array<std::uint32_t, 2> key);

}  // namespace plait
