// Tells our JSON profiles from PipeDream's text by the first character.
#include "cost/open_profile.hpp"

#include "cost/text_file.hpp"

namespace plait::cost {

ProfileSource open_profile(const std::string& path) {
  const std::string text = read_text_file(path);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string::npos && text[first] == '{') return parse_profile(text, path);
  return parse_published(text, path);
}

}  // namespace plait::cost
