// Width, colour and Unicode from isatty, ioctl and the environment.
#include "cli/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>

namespace plait::cli {

namespace {

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

}  // namespace

bool speaks_unicode() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string_view value = variable(name);
    if (value.empty()) continue;
    for (const std::string_view utf8 : {"UTF-8", "utf-8", "UTF8", "utf8"}) {
      if (value.find(utf8) != std::string_view::npos) return true;
    }
    return false;
  }
  return false;
}

Terminal find_terminal() {
  const std::string_view kind = variable("TERM");
  const bool able = isatty(STDERR_FILENO) == 1 && kind != "dumb" && !kind.empty();
  return {.redraws = able,
          .colours = able && variable("NO_COLOR").empty(),
          .unicode = speaks_unicode()};
}

std::size_t terminal_width() {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  const std::string_view columns = variable("COLUMNS");
  std::size_t width = 0;
  const auto [stop, error] =
      std::from_chars(columns.data(), columns.data() + columns.size(), width);
  return error == std::errc() && stop == columns.data() + columns.size() && width > 0 ? width : 80;
}

}  // namespace plait::cli
