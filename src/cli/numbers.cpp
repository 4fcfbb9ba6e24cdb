// Strict parsing with from_chars: the whole text must be a number in range.
#include "cli/numbers.hpp"

#include <charconv>
#include <cmath>

#include "base/error.hpp"

namespace plait::cli {

namespace {

std::string shown(std::string_view text) {
  return text.size() <= 60 ? std::string(text) : std::string(text.substr(0, 60)) + "...";
}

[[noreturn]] void refuse(std::string_view text, const std::string& name, std::string_view wanted) {
  if (text.empty()) user_error("{} needs {} but has no value", name, wanted);
  user_error("{} needs {} but is '{}'", name, wanted, shown(text));
}

template <class Number>
Number parse(std::string_view text, const std::string& name, std::string_view wanted) {
  std::string_view digits = text;
  if (digits.size() > 1 && digits[0] == '+' && digits[1] != '-') digits.remove_prefix(1);
  Number number{};
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, number);
  const bool whole = stop == end && !digits.empty();
  if (error == std::errc::result_out_of_range && whole) {
    user_error("{} {} is out of range", name, shown(text));
  }
  if (error != std::errc() || !whole) refuse(text, name, wanted);
  return number;
}

}  // namespace

std::int64_t parse_integer(std::string_view text, const std::string& name) {
  return parse<std::int64_t>(text, name, "a whole number");
}

std::int64_t parse_integer(std::string_view text, const std::string& name, graph::Range range) {
  const std::int64_t number = parse_integer(text, name);
  if (number < range.low || number > range.high) {
    user_error("{} {} is out of range; it must be between {} and {}", name, number, range.low,
               range.high);
  }
  return number;
}

std::uint64_t parse_unsigned(std::string_view text, const std::string& name) {
  return parse<std::uint64_t>(text, name, "a whole number that is not negative");
}

double parse_double(std::string_view text, const std::string& name) {
  const double number = parse<double>(text, name, "a number");
  if (!std::isfinite(number)) refuse(text, name, "a finite number");
  return number;
}

bool parse_boolean(std::string_view text, const std::string& name) {
  for (const std::string_view yes : {"true", "on", "yes", "1"}) {
    if (text == yes) return true;
  }
  for (const std::string_view no : {"false", "off", "no", "0"}) {
    if (text == no) return false;
  }
  refuse(text, name, "true or false");
}

}  // namespace plait::cli
