// Whole numbers rounded up: how many pieces of a size cover an amount, and what they cover.
#pragma once

#include <concepts>
#include <type_traits>

namespace plait {

/// a / b, rounded up. Neither is negative, and b is not 0.
template <std::integral T>
constexpr T divide_up(T a, std::type_identity_t<T> b) {
  return (a + b - 1) / b;
}

/// The smallest multiple of b that is not less than a.
template <std::integral T>
constexpr T round_up(T a, std::type_identity_t<T> b) {
  return divide_up(a, b) * b;
}

/// Rounded up to whole cache lines, at which buffers that share an allocation begin.
template <std::integral T>
constexpr T cache_lines(T bytes) {
  return round_up(bytes, 64);
}

}  // namespace plait
