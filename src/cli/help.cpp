// Lays out usage, options in groups and examples for 80 columns.
#include "cli/help.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace plait::cli {

namespace {

struct Line {
  std::string left;
  std::string right;
};

constexpr std::size_t kColumns = 80;
constexpr std::size_t kWidestLeft = 26;  // a longer flag has its help on the next line

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
    const std::string right = wrapped(line.right, kColumns - indent, indent);
    if (line.left.size() > width) {
      text += fmt::format("  {}\n{:{}}{}\n", line.left, "", indent, right);
    } else {
      text += fmt::format("  {:<{}}  {}\n", line.left, width, right);
    }
  }
  return text;
}

/// A command for the shell, continued with backslashes where it is too long.
std::string example_lines(const std::string& command) {
  std::string text;
  std::string line = " ";
  for (std::size_t at = 0; at < command.size();) {
    const std::size_t end = std::min(command.find(" --", at), command.size());  // with its value
    const std::string part = command.substr(at, end - at);
    if (at > 0 && line.size() + 1 + part.size() > kColumns - 2) {
      text += line + " \\\n";
      line = "     ";
    }
    line += " " + part;
    at = end + 1;
  }
  return text + line + "\n";
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
  std::string text =
      fmt::format("{}\n\nUsage: {}\n", wrapped(verb.about, kColumns, 0), usage(path));
  std::vector<Line> verbs;
  for (const Verb& child : verb.verbs) verbs.push_back({child.name, child.about});
  std::vector<std::string> groups;
  std::size_t width = 0;
  for (const Line& line : verbs) width = std::max(width, line.left.size());
  for (const Option& option : verb.options) {
    const std::size_t left = line_of(option).left.size();
    if (left <= kWidestLeft) width = std::max(width, left);
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
  for (const std::string& example : verb.examples) text += example_lines(example);
  if (!verb.verbs.empty()) {
    std::string name;
    for (const Verb* part : path) name += part->name + " ";
    text += fmt::format("\n{}VERB --help describes a verb.\n", name);
  }
  return text;
}

}  // namespace plait::cli
