// What the promises of the transport are checked with. No gtest: a member that finds a promise
// broken throws, which ends the job, so that the others do not wait for it.
#pragma once

#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/hash.hpp"
#include "base/rng.hpp"
#include "transport/group.hpp"
#include "transport/reduction.hpp"

namespace plait::transport::contract {

/// One promise, as each member of a group checks it.
struct Case {
  std::string name;
  std::function<void(Group&)> check;
};
inline void PrintTo(const Case& promise, std::ostream* out) { *out << promise.name; }

template <class... Args>
void require(bool kept, fmt::format_string<Args...> format, Args&&... args) {
  if (!kept) fail("broken promise: {}", fmt::format(format, std::forward<Args>(args)...));
}

template <class Error>
std::string thrown(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  fail("broken promise: nothing was thrown");
}

/// Bytes that tell who sent them and in which message.
inline std::vector<std::byte> pattern(std::size_t size, int from, int number) {
  std::vector<std::uint64_t> words(size / 8 + 1);
  std::uint64_t state = from * 7919ULL + number * 104729ULL + 1;
  for (std::uint64_t& word : words) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    word = state ^ (state >> 29U);
  }
  const std::span<const std::byte> bytes = std::as_bytes(std::span(words)).first(size);
  return {bytes.begin(), bytes.end()};
}

template <class T>
std::span<std::byte> bytes_of(T& value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

inline int next(const Group& group) { return (group.rank() + 1) % group.size(); }
inline int previous(const Group& group) { return (group.rank() + group.size() - 1) % group.size(); }

/// What `member` contributes to a sum: numbers of very different sizes, so that the order of the
/// additions shows.
inline std::vector<float> contribution(int member, std::size_t n, std::uint64_t seed) {
  Rng rng(seed, Purpose::test, member);
  std::vector<float> values(n);
  for (float& value : values) {
    value = std::ldexp(rng.uniform(-1, 1), static_cast<int>(rng.below(30)) - 15);
  }
  return values;
}

/// The nearest float whose lower 16 bits are zero, the even one of two; found by trying both.
inline float nearest_bf16(float value) {
  if (!std::isfinite(value)) return value;
  const std::uint32_t low = std::bit_cast<std::uint32_t>(value) & 0xffff0000U;
  const std::uint32_t high = low + 0x10000U;
  const double below = std::bit_cast<float>(low);
  const bool overflow = !std::isfinite(std::bit_cast<float>(high));
  const double above = overflow ? std::copysign(0x1p128, value) : std::bit_cast<float>(high);
  const double to_below = std::abs(value - below);
  const double to_above = std::abs(above - value);
  const bool low_is_even = (low & 0x10000U) == 0;
  const bool down = to_below < to_above || (to_below == to_above && low_is_even);
  return std::bit_cast<float>(down ? low : high);
}

/// The sum as one member alone would do it: ((v0 + v1) + v2) + ...
inline std::vector<float> serial_sum(const std::vector<std::vector<float>>& values, Wire wire) {
  std::vector<float> sum = values[0];
  if (values.size() == 1) return sum;
  const bool rounded = wire == Wire::bf16;
  for (std::size_t i = 0; i < sum.size(); ++i) {
    volatile float total = rounded ? nearest_bf16(values[0][i]) : values[0][i];
    for (std::size_t member = 1; member < values.size(); ++member) {
      total = total + (rounded ? nearest_bf16(values[member][i]) : values[member][i]);
    }
    sum[i] = rounded ? nearest_bf16(total) : total;
  }
  return sum;
}

inline std::vector<float> serial_sum(int members, std::size_t n, std::uint64_t seed, Wire wire) {
  std::vector<std::vector<float>> values;
  for (int member = 0; member < members; ++member) {
    values.push_back(contribution(member, n, seed));
  }
  return serial_sum(values, wire);
}

inline void require_equal_bits(std::span<const float> seen, std::span<const float> expected,
                               const std::string& what) {
  require(seen.size() == expected.size(), "{}: {} values, not {}", what, seen.size(),
          expected.size());
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const auto a = std::bit_cast<std::uint32_t>(seen[i]);
    const auto b = std::bit_cast<std::uint32_t>(expected[i]);
    require(a == b, "{}: value {} of {} is {} ({:08x}), not {} ({:08x})", what, i, seen.size(),
            seen[i], a, expected[i], b);
  }
}

inline std::string hash_of(std::span<const float> values) {
  Hash hash;
  hash.add(values.data(), values.size_bytes());
  return hash.hex();
}

inline const char* name_of(Wire wire) { return wire == Wire::bf16 ? "bf16" : "f32"; }

}  // namespace plait::transport::contract
