// Finds `keys` between backticks; what else stands between backticks (blanks, capitals) stays.
#include "cli/flag_text.hpp"

#include <algorithm>
#include <cctype>

namespace plait::cli {

namespace {

bool is_key(std::string_view word) {
  return !word.empty() && std::ranges::all_of(word, [](unsigned char c) {
    return std::islower(c) != 0 || std::isdigit(c) != 0 || c == '_';
  });
}

}  // namespace

std::string with_flags(std::string_view text) {
  std::string out;
  while (true) {
    const std::size_t begin = text.find('`');
    out += text.substr(0, begin);
    if (begin == std::string_view::npos) return out;
    text.remove_prefix(begin + 1);
    const std::size_t end = text.find('`');
    if (end == std::string_view::npos || !is_key(text.substr(0, end))) {
      out += '`';
      continue;
    }
    std::string flag = "--" + std::string(text.substr(0, end));
    std::ranges::replace(flag, '_', '-');
    out += flag;
    text.remove_prefix(end + 1);
  }
}

}  // namespace plait::cli
