// A TOML document as plain values with line numbers, and typed reading with one-line refusals. The
// TOML library itself stays in the .cpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace plait::graph {

struct TomlEntry;

struct TomlValue {
  using Array = std::vector<TomlValue>;
  using Table = std::vector<TomlEntry>;

  std::int64_t line = 0;
  /// monostate: a date or a time.
  std::variant<std::monostate, bool, std::int64_t, double, std::string, Array, Table> data;
};

struct TomlEntry {
  std::string key;
  std::int64_t key_line = 0;
  TomlValue value;
};

/// The document as a table. UserError with file and line for bad syntax and for too much of
/// anything (size, nesting).
TomlValue parse_toml(std::string_view text, const std::string& file);

/// Inclusive.
struct Range {
  std::int64_t low = 0;
  std::int64_t high = 0;
};

/// A table of a file, read key by key; every wrong type is a UserError "file:line: what ...".
/// Borrows the value and the file's name.
class TomlReader {
 public:
  /// `what` names the table in messages ("block 'conv1'", "a convolution").
  TomlReader(const TomlValue& table, const std::string& file, std::string what);

  /// Refuses every key that is not among `known`.
  void only(const std::vector<std::string>& known) const;
  /// Null where the key is absent.
  const TomlValue* find(std::string_view key) const;
  const std::string& what() const { return what_; }
  const std::string& file() const { return file_; }
  std::int64_t line() const { return line_; }

  std::int64_t integer(std::string_view key, std::int64_t fallback, Range range) const;
  double number(std::string_view key, double fallback) const;
  bool boolean(std::string_view key, bool fallback) const;
  std::string text(std::string_view key, const std::string& fallback) const;
  /// The same of a value inside an array.
  const std::string& text_of(const TomlValue& value, std::string_view key) const;
  /// Empty where the key is absent.
  const TomlValue::Array& array(std::string_view key) const;

  /// The integer in `value`; `key` for the message.
  std::int64_t integer_of(const TomlValue& value, std::string_view key, Range range) const;
  /// "file:line: what: ": how every message about `at` begins.
  std::string place(std::int64_t at) const;

 private:
  [[noreturn]] void wrong_type(const TomlValue& value, std::string_view key,
                               std::string_view wanted) const;

  const TomlValue::Table* table_ = nullptr;
  const std::string& file_;
  std::string what_;
  std::int64_t line_ = 0;
};

/// "a number", "a table", ... for messages.
std::string_view type_name(const TomlValue& value);

}  // namespace plait::graph
