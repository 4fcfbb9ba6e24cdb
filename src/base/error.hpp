// The two ways plait ends early. UserError: the user can mend it (exit code 2). Failure: the run
// could not go on (exit code 1). Both carry one line that says what, where, the number seen, what
// to do.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

namespace plait {

class UserError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

template <class... Args>
[[noreturn]] void user_error(fmt::format_string<Args...> format, Args&&... args) {
  throw UserError(fmt::format(format, std::forward<Args>(args)...));
}

template <class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw Failure(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace plait
