// The table itself, and the conversion of each type of field from and to text and TOML.
#include "cli/fields.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "cli/numbers.hpp"

namespace plait::cli {

std::string toml_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

namespace {

std::string toml_text(const std::string& text) { return toml_string(text); }
std::string toml_text(bool value) { return value ? "true" : "false"; }
std::string toml_text(std::int64_t value) { return std::to_string(value); }
/// TOML's integers are signed: larger ones are written as text.
std::string toml_text(std::uint64_t value) {
  const std::string digits = std::to_string(value);
  return value <= static_cast<std::uint64_t>(INT64_MAX) ? digits : toml_string(digits);
}
std::string toml_text(double value) {
  const std::string digits = fmt::format("{}", value);
  return digits.find_first_not_of("-0123456789") == std::string::npos ? digits + ".0" : digits;
}

struct TomlSetter {
  const graph::TomlValue& value;
  const std::string& place;

  [[noreturn]] void refuse(std::string_view wanted) const {
    user_error("{} must be {} but is {}", place, wanted, graph::type_name(value));
  }
  void operator()(std::string& to) const {
    const auto* text = std::get_if<std::string>(&value.data);
    if (text == nullptr) refuse("a text in quotes");
    if (text->find('\0') != std::string::npos) user_error("{} must not hold a zero byte", place);
    to = *text;
  }
  void operator()(bool& to) const {
    const auto* boolean = std::get_if<bool>(&value.data);
    if (boolean == nullptr) refuse("true or false");
    to = *boolean;
  }
  void operator()(std::int64_t& to) const {
    const auto* integer = std::get_if<std::int64_t>(&value.data);
    if (integer == nullptr) refuse("a whole number");
    to = *integer;
  }
  void operator()(std::uint64_t& to) const {
    if (const auto* text = std::get_if<std::string>(&value.data)) {
      to = parse_unsigned(*text, place);
      return;
    }
    std::int64_t integer = 0;
    (*this)(integer);
    if (integer < 0) user_error("{} is {} but must not be negative", place, integer);
    to = static_cast<std::uint64_t>(integer);
  }
  void operator()(double& to) const {
    if (const auto* integer = std::get_if<std::int64_t>(&value.data)) {
      to = static_cast<double>(*integer);
      return;
    }
    const auto* real = std::get_if<double>(&value.data);
    if (real == nullptr) refuse("a number");
    if (!std::isfinite(*real)) user_error("{} is {} but must be a finite number", place, *real);
    to = *real;
  }
};

}  // namespace

std::span<const Field> fields() { return session::train_settings(); }

const Field* find_field(std::string_view key) {
  const auto found = std::ranges::find(fields(), key, &Field::key);
  return found == fields().end() ? nullptr : &*found;
}

std::vector<std::string> field_keys() {
  std::vector<std::string> keys;
  for (const Field& field : fields()) keys.emplace_back(field.key);
  return keys;
}

std::string flag_of(const Field& field) {
  std::string flag = "--" + std::string(field.key);
  std::ranges::replace(flag, '_', '-');
  return flag;
}

void set_from_text(session::TrainConfig& config, const Field& field, std::string_view text,
                   const std::string& name) {
  struct Setter {
    std::string_view text;
    const std::string& name;
    void operator()(std::string& to) const { to = text; }
    void operator()(bool& to) const { to = parse_boolean(text, name); }
    void operator()(std::int64_t& to) const { to = parse_integer(text, name); }
    void operator()(std::uint64_t& to) const { to = parse_unsigned(text, name); }
    void operator()(double& to) const { to = parse_double(text, name); }
  };
  std::visit([&](auto member) { Setter{text, name}(config.*member); }, field.member);
}

void set_from_toml(session::TrainConfig& config, const Field& field, const graph::TomlValue& value,
                   const std::string& place) {
  std::visit([&](auto member) { TomlSetter{value, place}(config.*member); }, field.member);
}

std::string toml_of(const session::TrainConfig& config, const Field& field) {
  return std::visit([&](auto member) { return toml_text(config.*member); }, field.member);
}

bool equal_in(const Field& field, const session::TrainConfig& a, const session::TrainConfig& b) {
  return std::visit([&](auto member) { return a.*member == b.*member; }, field.member);
}

void copy_field(const Field& field, const session::TrainConfig& from, session::TrainConfig& to) {
  std::visit([&](auto member) { to.*member = from.*member; }, field.member);
}

}  // namespace plait::cli
