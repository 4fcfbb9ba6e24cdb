// Text files of numbers, scanned line by line: what the readers of sparse matrices share.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace plait::graph {

/// A whole regular file of at most 4 GiB; UserError where that is not possible.
std::string read_number_file(const std::string& path);

/// Fields of a line are separated by tabs and spaces. Every refusal is a UserError that begins with
/// "source:line: ". `text` must outlive the scanner.
class NumberLines {
 public:
  NumberLines(std::string_view text, std::string source)
      : text_(text), source_(std::move(source)) {}

  /// On to the next line that is not blank; false at the end of the text.
  bool next();
  std::int64_t line() const { return line_; }
  const std::string& source() const { return source_; }

  /// What is left of the line begins so.
  bool begins_with(char c) const { return rest_.starts_with(c); }
  /// The next field; empty at the end of the line.
  std::string_view word();
  /// The next field as a number within low and high; `what` names it in a refusal.
  std::int64_t integer(std::string_view what, std::int64_t low, std::int64_t high);
  /// The next field as a finite float.
  float number(std::string_view what);
  /// Refuses a line that goes on.
  void end_of_line();

  [[noreturn]] void refuse(std::string_view message) const;

 private:
  /// The quick way: a plain number within low and high, or nothing is taken.
  template <class Number>
  bool take(Number low, Number high, Number& value);

  std::string_view text_;
  std::string source_;
  std::string_view rest_;
  std::int64_t line_ = 0;
};

}  // namespace plait::graph
