// The scanner behind NumberLines, and its messages with file and line.
#include "graph/number_lines.hpp"

#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include "base/error.hpp"
#include "base/in_file.hpp"

namespace plait::graph {

namespace {

constexpr std::uintmax_t kMaxBytes = std::uintmax_t{1} << 32;

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

/// Short, and plain ASCII.
std::string shown(std::string_view field) {
  constexpr std::size_t kShown = 40;
  std::string text;
  for (const char c : field.substr(0, kShown)) text += c >= ' ' && c <= '~' ? c : '?';
  return text + (field.size() > kShown ? "..." : "");
}

/// from_chars that also takes a leading plus.
template <class Number>
std::errc parse(std::string_view field, Number& value) {
  if (field.starts_with('+') && !field.starts_with("+-")) field.remove_prefix(1);
  const char* const end = field.data() + field.size();
  const auto [stop, error] = std::from_chars(field.data(), end, value);
  return error == std::errc() && stop != end ? std::errc::invalid_argument : error;
}

}  // namespace

std::string read_number_file(const std::string& path) {
  check_input_file(path);
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    user_error("{}: no such file; check the name", path);
  }
  const std::uintmax_t bytes = std::filesystem::file_size(path, error);
  if (error) user_error("{}: its size cannot be read: {}", path, error.message());
  if (bytes > kMaxBytes) user_error("{}: {} bytes are too many; the limit is 4 GiB", path, bytes);
  std::string text(static_cast<std::size_t>(bytes), '\0');
  std::ifstream file(path, std::ios::binary);
  if (!file) user_error("{}: cannot be opened; check its permissions", path);
  if (!file.read(text.data(), static_cast<std::streamsize>(text.size()))) {
    user_error("{}: cannot be read completely", path);
  }
  return text;
}

bool NumberLines::next() {
  while (!text_.empty()) {
    ++line_;
    const std::size_t length = text_.find('\n');
    rest_ = text_.substr(0, length);
    text_.remove_prefix(length == std::string_view::npos ? text_.size() : length + 1);
    while (!rest_.empty() && is_blank(rest_.front())) rest_.remove_prefix(1);
    if (!rest_.empty()) return true;
  }
  return false;
}

std::string_view NumberLines::word() {
  std::size_t length = 0;
  while (length < rest_.size() && !is_blank(rest_[length])) ++length;
  const std::string_view field = rest_.substr(0, length);
  while (length < rest_.size() && is_blank(rest_[length])) ++length;
  rest_.remove_prefix(length);
  return field;
}

template <class Number>
bool NumberLines::take(Number low, Number high, Number& value) {
  const char* const end = rest_.data() + rest_.size();
  auto [stop, error] = std::from_chars(rest_.data(), end, value);
  if (error != std::errc() || !(value >= low && value <= high)) return false;
  if (stop != end && !is_blank(*stop)) return false;
  while (stop != end && is_blank(*stop)) ++stop;
  rest_.remove_prefix(static_cast<std::size_t>(stop - rest_.data()));
  return true;
}

std::int64_t NumberLines::integer(std::string_view what, std::int64_t low, std::int64_t high) {
  std::int64_t value = 0;
  if (take(low, high, value)) return value;
  const std::string_view field = word();
  if (field.empty()) refuse(fmt::format("the line ends before the {}", what));
  const std::errc error = parse(field, value);
  if (error == std::errc::invalid_argument) {
    refuse(fmt::format("the {} must be a whole number but is '{}'", what, shown(field)));
  }
  if (error != std::errc() || value < low || value > high) {
    refuse(fmt::format("{} {} is not within {} and {}", what, shown(field), low, high));
  }
  return value;
}

float NumberLines::number(std::string_view what) {
  constexpr double kMost = std::numeric_limits<float>::max();
  double value = 0;
  if (take(-kMost, kMost, value)) return static_cast<float>(value);
  const std::string_view field = word();
  if (field.empty()) refuse(fmt::format("the line ends before the {}", what));
  const std::errc error = parse(field, value);
  if (error == std::errc::invalid_argument) {
    refuse(fmt::format("the {} must be a number but is '{}'", what, shown(field)));
  }
  if (error != std::errc() || !(std::abs(value) <= kMost)) {
    refuse(fmt::format("the {} must be a finite 32-bit number but is {}", what, shown(field)));
  }
  return static_cast<float>(value);
}

void NumberLines::end_of_line() {
  if (!rest_.empty())
    refuse(fmt::format("'{}' is not expected at the end of this line", shown(rest_)));
}

void NumberLines::refuse(std::string_view message) const {
  user_error("{}:{}: {}", source_, line_, message);
}

}  // namespace plait::graph
