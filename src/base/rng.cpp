// Philox 4x32-10 with a key mixed from the stream's name, and the distributions drawn from it.
#include "base/rng.hpp"

#include <cmath>
#include <numbers>

namespace plait {

namespace {

/// Mixes 64 bits thoroughly (the finaliser of SplitMix64).
std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

std::uint32_t low(std::uint64_t x) { return static_cast<std::uint32_t>(x); }
std::uint32_t high(std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); }

}  // namespace

std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                    std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t product1 = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {high(product1) ^ counter[1] ^ key[0], low(product1),
               high(product0) ^ counter[3] ^ key[1], low(product0)};
    key[0] += 0x9E3779B9U;
    key[1] += 0xBB67AE85U;
  }
  return counter;
}

// The key is a mix of seed, purpose and `a`; `b` and the position in the stream are the counter.
Rng::Rng(std::uint64_t seed, Purpose purpose, std::uint64_t a, std::uint64_t b) {
  const std::uint64_t key = mix(mix(mix(seed) ^ static_cast<std::uint64_t>(purpose)) ^ a);
  key_ = {low(key), high(key)};
  counter_ = {0, 0, low(b), high(b)};
}

std::uint32_t Rng::next_u32() {
  if (used_ == 4) {
    block_ = philox(counter_, key_);
    if (++counter_[0] == 0) ++counter_[1];
    used_ = 0;
  }
  return block_[used_++];
}

float Rng::uniform() { return static_cast<float>(next_u32() >> 8) * 0x1.0p-24F; }

float Rng::normal() {
  if (has_spare_normal_) {
    has_spare_normal_ = false;
    return spare_normal_;
  }
  const double u = (static_cast<double>(next_u32()) + 1.0) * 0x1.0p-32;  // (0, 1]
  const double v = static_cast<double>(next_u32()) * 0x1.0p-32;
  const double radius = std::sqrt(-2.0 * std::log(u));
  const double angle = 2.0 * std::numbers::pi * v;
  spare_normal_ = static_cast<float>(radius * std::sin(angle));
  has_spare_normal_ = true;
  return static_cast<float>(radius * std::cos(angle));
}

std::uint32_t Rng::below(std::uint32_t n) {
  std::uint64_t product = std::uint64_t{next_u32()} * n;
  if (low(product) < n) {
    const std::uint32_t threshold = (0U - n) % n;
    while (low(product) < threshold) product = std::uint64_t{next_u32()} * n;
  }
  return high(product);
}

}  // namespace plait
