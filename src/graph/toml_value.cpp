// toml++ kept behind plain values, with guards against inputs on which the library crashes.
#include "graph/toml_value.hpp"

#include <toml++/toml.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/nearest.hpp"

namespace plait::graph {

namespace {

constexpr std::size_t kMostTomlBytes = 16U << 20;
constexpr int kMaxDepth = 8;
constexpr int kMaxDotsPerLine = 100;

/// The library builds one nested table per dot of a key and frees them recursively, so a very long
/// dotted key would exhaust the stack before any check of the tree.
void refuse_long_keys(std::string_view text, const std::string& file) {
  int line = 1;
  int dots = 0;
  bool blank = true;
  bool comment = false;
  for (char c : text) {
    if (c == '\n') {
      ++line;
      dots = 0;
      blank = true;
      comment = false;
      continue;
    }
    if (blank && c == '#') comment = true;
    if (c != ' ' && c != '\t') blank = false;
    if (c == '.' && !comment && ++dots > kMaxDotsPerLine) {
      user_error("{}:{}: more than {} dots in one line; break the line", file, line,
                 kMaxDotsPerLine);
    }
  }
}

/// The library (3.3) reaches __builtin_unreachable on some letters beyond ASCII outside of strings.
/// As \uXXXX they mean the same in "strings", nothing in comments, and are refused elsewhere.
std::string escape_non_ascii(std::string_view text, const std::string& file) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  std::string out;
  out.reserve(text.size());
  std::int64_t line = 1;
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    if (lead < 0x80) {
      if (lead == '\n') ++line;
      out += text[i++];
      continue;
    }
    const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    bool good = lead >= 0xC2 && lead <= 0xF4 && i + length <= text.size();
    std::uint32_t code = lead & (0xFFU >> (length + 1));
    for (std::size_t k = 1; good && k < length; ++k) {
      const auto next = static_cast<unsigned char>(text[i + k]);
      good = (next & 0xC0U) == 0x80U;
      code = code << 6 | (next & 0x3FU);
    }
    constexpr std::uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    if (!good || code < smallest[length] || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) {
      user_error("{}:{}: not valid TOML: the text is not UTF-8", file, line);
    }
    out += fmt::format("\\U{:08X}", code);
    i += length;
  }
  return out;
}

class Converter {
 public:
  explicit Converter(const std::string& file) : file_(file) {}

  TomlValue convert(const toml::node& node, int depth) const {
    TomlValue value{.line = node.source().begin.line, .data = {}};
    if (depth > kMaxDepth) {
      user_error("{}:{}: nested deeper than {} levels", file_, value.line, kMaxDepth);
    }
    if (const auto* table = node.as_table()) {
      TomlValue::Table entries;
      for (const auto& [key, child] : *table) {
        entries.push_back({.key = std::string(key.str()),
                           .key_line = key.source().begin.line,
                           .value = convert(child, depth + 1)});
      }
      // the library sorts keys; messages should name the first one in the file
      std::ranges::stable_sort(entries, {}, &TomlEntry::key_line);
      value.data = std::move(entries);
    } else if (const auto* array = node.as_array()) {
      TomlValue::Array children;
      for (const toml::node& child : *array) children.push_back(convert(child, depth + 1));
      value.data = std::move(children);
    } else if (const auto* text = node.as_string()) {
      value.data = text->get();
    } else if (const auto* integer = node.as_integer()) {
      value.data = integer->get();
    } else if (const auto* real = node.as_floating_point()) {
      value.data = real->get();
    } else if (const auto* boolean = node.as_boolean()) {
      value.data = boolean->get();
    }
    return value;
  }

 private:
  const std::string& file_;
};

std::string shortened(std::string_view text) {
  return text.size() <= 60 ? std::string(text) : std::string(text.substr(0, 60)) + "...";
}

}  // namespace

TomlValue parse_toml(std::string_view text, const std::string& file) {
  if (text.size() > kMostTomlBytes) {
    user_error("{}: {} bytes are too many for a TOML file (at most {})", file, text.size(),
               kMostTomlBytes);
  }
  refuse_long_keys(text, file);
  try {
    const std::string ascii = escape_non_ascii(text, file);
    const toml::table document = toml::parse(std::string_view(ascii), std::string_view(file));
    return Converter(file).convert(document, 0);
  } catch (const toml::parse_error& error) {
    user_error("{}:{}: not valid TOML: {}", file, error.source().begin.line, error.description());
  }
}

TomlReader::TomlReader(const TomlValue& table, const std::string& file, std::string what)
    : table_(std::get_if<TomlValue::Table>(&table.data)),
      file_(file),
      what_(std::move(what)),
      line_(table.line) {
  if (table_ == nullptr) {
    user_error("{}must be a table {{...}} but is {}", place(line_), type_name(table));
  }
}

void TomlReader::only(const std::vector<std::string>& known) const {
  for (const TomlEntry& entry : *table_) {
    if (std::ranges::find(known, entry.key) == known.end()) {
      const std::string key = shortened(entry.key);
      user_error("{}unknown key '{}'{}; known are {}", place(entry.key_line), key,
                 did_you_mean(key, known), fmt::join(known, ", "));
    }
  }
}

const TomlValue* TomlReader::find(std::string_view key) const {
  const auto found = std::ranges::find(*table_, key, &TomlEntry::key);
  return found == table_->end() ? nullptr : &found->value;
}

std::int64_t TomlReader::integer(std::string_view key, std::int64_t fallback, Range range) const {
  const TomlValue* value = find(key);
  return value == nullptr ? fallback : integer_of(*value, key, range);
}

std::int64_t TomlReader::integer_of(const TomlValue& value, std::string_view key,
                                    Range range) const {
  const auto* integer = std::get_if<std::int64_t>(&value.data);
  if (integer == nullptr) wrong_type(value, key, "a whole number");
  if (*integer < range.low || *integer > range.high) {
    user_error("{}{} = {} is not within {} and {}", place(value.line), key, *integer, range.low,
               range.high);
  }
  return *integer;
}

double TomlReader::number(std::string_view key, double fallback) const {
  const TomlValue* value = find(key);
  if (value == nullptr) return fallback;
  if (const auto* real = std::get_if<double>(&value->data)) return *real;
  if (const auto* integer = std::get_if<std::int64_t>(&value->data))
    return static_cast<double>(*integer);
  wrong_type(*value, key, "a number");
}

bool TomlReader::boolean(std::string_view key, bool fallback) const {
  const TomlValue* value = find(key);
  if (value == nullptr) return fallback;
  if (const auto* boolean = std::get_if<bool>(&value->data)) return *boolean;
  wrong_type(*value, key, "true or false");
}

std::string TomlReader::text(std::string_view key, const std::string& fallback) const {
  const TomlValue* value = find(key);
  return value == nullptr ? fallback : text_of(*value, key);
}

const std::string& TomlReader::text_of(const TomlValue& value, std::string_view key) const {
  if (const auto* text = std::get_if<std::string>(&value.data)) return *text;
  wrong_type(value, key, "a text in quotes");
}

const TomlValue::Array& TomlReader::array(std::string_view key) const {
  static const TomlValue::Array none;
  const TomlValue* value = find(key);
  if (value == nullptr) return none;
  if (const auto* array = std::get_if<TomlValue::Array>(&value->data)) return *array;
  wrong_type(*value, key, "a list [...]");
}

std::string TomlReader::place(std::int64_t at) const {
  return what_.empty() ? fmt::format("{}:{}: ", file_, at)
                       : fmt::format("{}:{}: {}: ", file_, at, what_);
}

void TomlReader::wrong_type(const TomlValue& value, std::string_view key,
                            std::string_view wanted) const {
  user_error("{}{} must be {} but is {}", place(value.line), key, wanted, type_name(value));
}

std::string_view type_name(const TomlValue& value) {
  constexpr std::string_view names[] = {
      "a date or time", "true or false", "a whole number", "a number with a fraction",
      "a text",         "a list",        "a table"};
  return names[value.data.index()];
}

}  // namespace plait::graph
