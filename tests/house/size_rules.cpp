// Counts lines, and the parameters of every function that is declared outside function bodies.
#include "house/size_rules.hpp"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <regex>
#include <sstream>

#include "house/house.hpp"

namespace plait::house {

namespace fs = std::filesystem;

namespace {

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Blanks in place of comments, texts, characters and preprocessor lines; the lines stay.
std::string without_comments_and_texts(const std::string& text) {
  static const std::regex dead(
      R"(//[^\n]*|/\*[^]*?\*/|R"\w*\([^]*?\)\w*"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])')"
      R"(|(?:^|\n)[ \t]*#(?:\\\n|[^\n])*)");
  std::string bare = text;
  for (std::sregex_iterator it(text.begin(), text.end(), dead), end; it != end; ++it) {
    for (auto i = it->position(); i < it->position() + it->length(); ++i) {
      char& c = bare[static_cast<std::size_t>(i)];
      if (c != '\n') c = ' ';
    }
  }
  return bare;
}

bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

class Declarations {
 public:
  explicit Declarations(std::string text) : text_(std::move(text)) {}

  template <class Found>
  void each(Found&& found) {
    std::size_t begin = 0;  // of the declaration
    for (std::size_t i = 0; i < text_.size(); ++i) {
      const char c = text_[i];
      if (c == '{') {
        if (!opens_scope(text_.substr(begin, i - begin))) {
          i = end_of_group(i);  // a function's body, an initial value, an enumeration
        }
        begin = i + 1;
      } else if (c == ';' || c == '}') {
        begin = i + 1;
      } else if (c == '(') {
        const std::size_t end = end_of_group(i);
        if (const std::string name = name_before(i); !name.empty()) {
          found(name, line_of(i), parameters(i + 1, end));
        }
        i = end;
      }
    }
  }

 private:
  static bool opens_scope(const std::string& head) {
    static const std::regex scope(R"(\b(namespace|struct|class|union)\b)");
    return head.find('(') == std::string::npos && std::regex_search(head, scope);
  }

  std::size_t end_of_group(std::size_t open) const {
    int depth = 0;
    for (std::size_t i = open; i < text_.size(); ++i) {
      if (text_[i] == '(' || text_[i] == '{' || text_[i] == '[') ++depth;
      if (text_[i] == ')' || text_[i] == '}' || text_[i] == ']') --depth;
      if (depth == 0) return i;
    }
    return text_.size();
  }

  std::string name_before(std::size_t open) const {
    std::size_t begin = open;
    while (begin > 0 && is_name(text_[begin - 1])) --begin;
    const std::string name = text_.substr(begin, open - begin);
    static const std::regex keyword(
        "noexcept|decltype|requires|alignas|static_assert|sizeof|explicit");
    return std::regex_match(name, keyword) ? "" : name;
  }

  int line_of(std::size_t at) const {
    return 1 + static_cast<int>(std::count(text_.begin(),
                                           text_.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
  }

  int parameters(std::size_t begin, std::size_t end) const {
    int angles = 0;
    int commas = 0;
    bool any = false;
    for (std::size_t i = begin; i < end; ++i) {
      const char c = text_[i];
      any = any || std::isspace(static_cast<unsigned char>(c)) == 0;
      if (c == '(' || c == '{' || c == '[') i = end_of_group(i);
      if (c == '<') ++angles;
      if (c == '>' && text_[i - 1] != '-') --angles;
      if (c == ',' && angles == 0) ++commas;
    }
    return any ? commas + 1 : 0;
  }

  std::string text_;
};

}  // namespace

std::vector<std::string> files_longer_than(const fs::path& folder, int most) {
  std::vector<std::string> found;
  for (const fs::path& path : source_files(folder)) {
    const std::string text = text_of(path);
    const auto lines = std::count(text.begin(), text.end(), '\n');
    if (lines <= most) continue;
    found.push_back(path.lexically_relative(folder).generic_string() + ": " +
                    std::to_string(lines) + " lines");
  }
  return found;
}

std::vector<std::string> functions_with_more_parameters_than(const fs::path& folder, int most) {
  std::vector<std::string> broken;
  for (const fs::path& path : source_files(folder)) {
    const std::string file = path.lexically_relative(folder).generic_string();
    Declarations(without_comments_and_texts(text_of(path)))
        .each([&](const std::string& name, int line, int parameters) {
          if (parameters <= most) return;
          broken.push_back(file + ":" + std::to_string(line) + ": " + name + " has " +
                           std::to_string(parameters) + " parameters");
        });
  }
  return broken;
}

}  // namespace plait::house
