// What the terminal behind stderr can show.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <string_view>

#include "cli/flag_text.hpp"

namespace plait::cli {

struct Terminal {
  bool redraws = false;  ///< a line can be written over: a tty that is not dumb
  bool colours = false;
  bool unicode = false;
};

/// Of stderr. Colours are off with NO_COLOR, as no-color.org asks.
Terminal find_terminal();
/// Columns of stderr now (windows change); 80 when nobody knows.
std::size_t terminal_width();
/// Whether the locale says UTF-8.
bool speaks_unicode();

/// Prints to stderr, with settings as flags. A log that cannot be written must not end a training
/// run: errors are ignored.
template <class... Args>
void tell(fmt::format_string<Args...> format, Args&&... args) {
  std::fputs(with_flags(fmt::format(format, std::forward<Args>(args)...)).c_str(), stderr);
}

}  // namespace plait::cli
