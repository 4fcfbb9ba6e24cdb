// The two ways plait ends early. UserError: the user can correct it (exit code 2). Failure: the run
// could not go on (exit code 1). Both carry one line that says what, where, the number seen, what
// to do. In such lines the key of a setting stands between backticks, `workers_per_node`; only the
// command line writes it as a flag.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace plait {

/// what() is "`microbatches` 7 must divide `batch` 64": field, value and reason, of which the first
/// two are empty where no single setting is to blame.
class UserError : public std::runtime_error {
 public:
  explicit UserError(std::string reason) : std::runtime_error(reason), reason_(std::move(reason)) {}
  UserError(std::string field, std::string value, std::string reason)
      : std::runtime_error(
            fmt::format("`{}` {}{}{}", field, value, value.empty() ? "" : " ", reason)),
        field_(std::move(field)),
        value_(std::move(value)),
        reason_(std::move(reason)) {}

  const std::string& field() const { return field_; }
  const std::string& value() const { return value_; }
  const std::string& reason() const { return reason_; }

  /// Blames `field` for `value` in a text of its own, which is what() and reason().
  static UserError about(std::string field, std::string value, std::string text) {
    UserError error(std::move(text));
    error.field_ = std::move(field);
    error.value_ = std::move(value);
    return error;
  }

  /// The same with a place in front: "plan.json: `microbatches` 7 must ...".
  UserError in(std::string_view place) const {
    UserError placed(fmt::format("{}: {}", place, what()));
    placed.field_ = field_;
    placed.value_ = value_;
    placed.reason_ = reason_;
    return placed;
  }

 private:
  std::string field_;
  std::string value_;
  std::string reason_;
};

class Failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

template <class... Args>
[[noreturn]] void user_error(fmt::format_string<Args...> format, Args&&... args) {
  throw UserError(fmt::format(format, std::forward<Args>(args)...));
}

/// A setting has a value that it cannot have; the text continues "`field` value ".
template <class Value, class... Args>
[[noreturn]] void setting_error(std::string_view field, const Value& value,
                                fmt::format_string<Args...> format, Args&&... args) {
  throw UserError(std::string(field), fmt::format("{}", value),
                  fmt::format(format, std::forward<Args>(args)...));
}

template <class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw Failure(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace plait
