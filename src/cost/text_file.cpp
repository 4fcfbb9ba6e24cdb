// Reads a text file with a limit on its size; quotes and shortens names for messages.
#include "cost/text_file.hpp"

#include <fstream>

#include "base/error.hpp"
#include "base/in_file.hpp"

namespace plait::cost {

std::string read_text_file(const std::string& path) {
  check_input_file(path);
  std::ifstream file(path, std::ios::binary);
  if (!file) user_error("{}: cannot be opened; check the name", path);
  std::string text;
  char chunk[64 << 10];
  while (file.read(chunk, sizeof chunk), file.gcount() > 0) {
    text.append(chunk, static_cast<std::size_t>(file.gcount()));
    if (text.size() > kMaxProfileBytes) {
      user_error("{}: larger than {} bytes, which is too large for a profile", path,
                 kMaxProfileBytes);
    }
  }
  if (file.bad()) user_error("{}: cannot be read completely", path);
  return text;
}

std::string in_quotes(std::string_view name) {
  constexpr std::size_t kShown = 60;
  std::string text = "'";
  for (const char c : name.substr(0, kShown)) text += c >= ' ' && c <= '~' ? c : '?';
  return text + (name.size() > kShown ? "...'" : "'");
}

}  // namespace plait::cost
