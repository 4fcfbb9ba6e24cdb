// Refusals of values that a setting cannot have.
#include "base/setting.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/error.hpp"
#include "base/nearest.hpp"

namespace plait {

namespace {

/// Whole numbers without an exponent.
std::string number(double value) {
  return std::fabs(value) < 1e18 && value == std::floor(value) ? fmt::format("{:.0f}", value)
                                                               : fmt::format("{}", value);
}

}  // namespace

void check_bounds(std::string_view key, double value, const Bounds& bounds) {
  const bool low_enough = bounds.below_most ? value < bounds.most : value <= bounds.most;
  if (value >= bounds.least && low_enough) return;
  if (std::isinf(bounds.most)) {
    setting_error(key, number(value), "is too small; it must be at least {}", number(bounds.least));
  }
  if (bounds.below_most) {
    setting_error(key, number(value), "is out of range; it must be {} or more and below {}",
                  number(bounds.least), number(bounds.most));
  }
  setting_error(key, number(value), "is out of range; it must be between {} and {}",
                number(bounds.least), number(bounds.most));
}

void check_choice(std::string_view key, const std::string& value, std::string_view choices) {
  const std::vector<std::string> names = names_in(choices);
  if (std::ranges::find(names, value) != names.end()) return;
  const std::string shown = value.substr(0, 60);
  setting_error(key, shown, "is not known{}; there are: {}", did_you_mean(shown, names), choices);
}

void check_number_or_choice(std::string_view key, const std::string& value, const Bounds& bounds,
                            std::string_view choices) {
  const std::vector<std::string> names = names_in(choices);
  if (std::ranges::find(names, value) != names.end()) return;
  const std::optional<std::int64_t> whole = whole_number(value);
  if (whole) return check_bounds(key, static_cast<double>(*whole), bounds);
  const std::string shown = value.substr(0, 60);
  setting_error(key, shown, "is not known{}; it must be a whole number between {} and {}, or {}",
                did_you_mean(shown, names), number(bounds.least), number(bounds.most), choices);
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end) return std::nullopt;
  return number;
}

std::vector<std::string> names_in(std::string_view list) {
  constexpr std::string_view comma = ", ";
  std::vector<std::string> names;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(comma), list.size());
    names.emplace_back(list.substr(0, end));
    list.remove_prefix(std::min(list.size(), end + comma.size()));
  }
  return names;
}

}  // namespace plait
