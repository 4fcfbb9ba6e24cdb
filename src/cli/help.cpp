#include "cli/help.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace plait {

namespace {

struct Line {
  std::string left;
  std::string right;
};

constexpr std::size_t kColumns = 100;

/// In lines of at most `width`, broken between words; the lines after the first are indented.
std::string wrapped(const std::string& text, std::size_t width, std::size_t indent) {
  std::string out;
  std::size_t column = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    if (column > 0 && column + 1 + word.size() > width) {
      out += '\n' + std::string(indent, ' ');
      column = 0;
    } else if (column > 0) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
    at = end + 1;
  }
  return out;
}

std::string lines(const std::vector<Line>& all, std::size_t width) {
  std::string text;
  const std::size_t indent = width + 4;
  for (const Line& line : all) {
    text += fmt::format("  {:<{}}  {}\n", line.left, width,
                        wrapped(line.right, kColumns - indent, indent));
  }
  return text;
}

Line line_of(const Option& option) {
  std::string left = option.shown_name();
  if (!option.value.empty() && !option.positional()) {
    left += option.value_optional ? " [" + option.value + "]" : " " + option.value;
  }
  std::string right = option.shown_help();
  if (!option.standard.empty() && !option.is_switch()) right += " [" + option.standard + "]";
  return {.left = std::move(left), .right = std::move(right)};
}

std::string usage(const std::vector<const Verb*>& path) {
  std::string text;
  for (const Verb* verb : path) text += (text.empty() ? "" : " ") + verb->name;
  const Verb& verb = *path.back();
  if (!verb.verbs.empty()) text += " VERB";
  bool flags = false;
  for (const Option& option : verb.options) {
    if (option.positional()) {
      const std::string name = option.name + (option.repeated ? "..." : "");
      text += option.required ? " " + name : " [" + name + "]";
    }
    flags = flags || !option.positional();
  }
  return flags ? text + " [FLAGS]" : text;
}

}  // namespace

std::string help_text(const std::vector<const Verb*>& path) {
  const Verb& verb = *path.back();
  std::string text = fmt::format("{}\n\nUsage: {}\n", verb.about, usage(path));
  std::vector<Line> verbs;
  for (const Verb& child : verb.verbs) verbs.push_back({child.name, child.about});
  std::vector<std::string> groups;
  std::size_t width = 0;
  for (const Line& line : verbs) width = std::max(width, line.left.size());
  for (const Option& option : verb.options) {
    width = std::max(width, line_of(option).left.size());
    if (std::ranges::find(groups, option.group) == groups.end()) groups.push_back(option.group);
  }
  if (!verbs.empty()) text += "\nVerbs:\n" + lines(verbs, width);
  for (const std::string& group : groups) {
    std::vector<Line> members;
    for (const Option& option : verb.options) {
      if (option.group == group) members.push_back(line_of(option));
    }
    text += fmt::format("\n{}:\n{}", group, lines(members, width));
  }
  text += "\nExamples:\n";
  for (const std::string& example : verb.examples) text += "  " + example + "\n";
  if (!verb.verbs.empty()) {
    std::string name;
    for (const Verb* part : path) name += part->name + " ";
    text += fmt::format("\n{}VERB --help says more about a verb.\n", name);
  }
  return text;
}

}  // namespace plait
