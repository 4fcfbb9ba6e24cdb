// CLI11 set up from Verb values, and its errors turned into our one-line messages.
#include "cli/command_line.hpp"

#include <CLI/CLI.hpp>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/nearest.hpp"
#include "cli/numbers.hpp"

namespace plait::cli {

namespace {

/// A verb with the CLI11 objects that stand for it.
struct Node {
  const Verb* verb = nullptr;
  CLI::App* app = nullptr;
  std::vector<std::pair<const Option*, CLI::Option*>> options;
};

using Nodes = std::vector<Node>;

constexpr int kMostRepeated = 1000;

std::string negated(const std::string& name) { return "--no-" + name.substr(2); }

void add_verb(CLI::App& app, const Verb& verb, Nodes& nodes) {
  app.set_help_flag("-h,--help");
  app.allow_extras();  // unknown words come back as `remaining`, for a message of our own
  Node node{.verb = &verb, .app = &app, .options = {}};
  for (const Option& option : verb.options) {
    CLI::Option* added =
        option.is_switch()
            ? app.add_flag(option.name + ",!" + negated(option.name))
            : app.add_option(option.name)->expected(option.value_optional ? 0 : 1, 1);
    if (option.repeated) {
      added->expected(1, kMostRepeated)->allow_extra_args();
      added->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    } else {
      added->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);  // refused by check_once()
    }
    node.options.emplace_back(&option, added);
  }
  nodes.push_back(std::move(node));
  for (const Verb& child : verb.verbs) add_verb(*app.add_subcommand(child.name, ""), child, nodes);
}

std::vector<std::string> known_flags(const Verb& verb) {
  std::vector<std::string> flags{"--help"};
  for (const Option& option : verb.options) {
    if (option.positional()) continue;
    flags.push_back(option.name);
    if (option.is_switch()) flags.push_back(negated(option.name));
  }
  return flags;
}

std::string spelled(const std::vector<const Verb*>& path) {
  std::string text;
  for (const Verb* verb : path) text += (text.empty() ? "" : " ") + verb->name;
  return text;
}

[[noreturn]] void refuse_word(const std::vector<const Verb*>& path, const std::string& typed) {
  const Verb& verb = *path.back();
  std::string word = typed.substr(0, typed.find('=')).substr(0, 60);
  if (word.starts_with('-')) {
    user_error("unknown flag '{}'{}; {} --help lists them", word,
               did_you_mean(word, known_flags(verb)), spelled(path));
  }
  word = typed.substr(0, 60);
  if (verb.verbs.empty()) {
    user_error("'{}' is one argument too many for {}; see {} --help", word, spelled(path),
               spelled(path));
  }
  std::vector<std::string> names;
  for (const Verb& child : verb.verbs) names.push_back(child.name);
  user_error("unknown verb '{}'{}; {} has: {}", word, did_you_mean(word, names), spelled(path),
             verb_names(verb));
}

/// CLI11 takes "--init=" for a flag whose value is the next word; here the value is the empty text.
std::vector<std::string> split_empty_values(const std::vector<std::string>& words) {
  std::vector<std::string> split;
  for (const std::string& word : words) {
    const bool empty_value =
        word.starts_with("--") && word.size() > 3 && word.find('=') == word.size() - 1;
    split.push_back(empty_value ? word.substr(0, word.size() - 1) : word);
    if (empty_value) split.emplace_back();
  }
  return split;
}

void check_value(const Option& option, const std::string& value) {
  if (option.is_switch()) {
    parse_boolean(value, option.name);
  } else if (value.starts_with("--")) {
    user_error("{} needs a value: {} {} (next came the flag {})", option.name, option.name,
               option.value, value.substr(0, 60));
  }
}

/// A flag with one value stands once; a switch may be repeated, but not with another value.
void check_once(const Option& option, const std::vector<std::string>& values) {
  const bool same =
      option.is_switch() && std::ranges::all_of(values, [&](const std::string& value) {
        return parse_boolean(value, option.name) == parse_boolean(values.front(), option.name);
      });
  if (option.repeated || values.size() < 2 || same) return;
  user_error("{} is given {} times ({}); leave one", option.name, values.size(),
             fmt::join(values, ", "));
}

void take_arguments(const Node& node, Arguments& arguments) {
  for (const auto& [option, parsed] : node.options) {
    if (parsed->count() == 0) continue;
    std::vector<std::string> values = parsed->results();
    if (option->value_optional && values.empty()) values.emplace_back();
    for (const std::string& value : values) check_value(*option, value);
    check_once(*option, values);
    if (!option->repeated) values = {values.back()};
    arguments.set(option->name, std::move(values));
  }
}

void check_required(const std::vector<const Verb*>& path, const Arguments& arguments) {
  for (const Option& option : path.back()->options) {
    if (option.required && arguments.find(option.name) == nullptr) {
      user_error("{} needs {} ({}); see {} --help", spelled(path), option.name, option.help,
                 spelled(path));
    }
  }
}

/// A flag that takes a value and has none; CLI11 says so only in a sentence of its own.
void refuse_missing_value(const Nodes& nodes, const std::vector<std::string>& words) {
  if (words.empty()) return;
  for (const Node& node : nodes) {
    for (const Option& option : node.verb->options) {
      if (!option.is_switch() && !option.value_optional && option.name == words.back()) {
        user_error("{} needs a value: {} {}", option.name, option.name, option.value);
      }
    }
  }
}

const Node& node_of(const Nodes& nodes, const CLI::App* app) {
  return *std::ranges::find(nodes, app, &Node::app);
}

}  // namespace

Command parse_command_line(const Verb& program, const std::vector<std::string>& words) {
  CLI::App app;
  Nodes nodes;
  add_verb(app, program, nodes);
  Command command;
  try {
    std::vector<std::string> reversed = split_empty_values(words);
    std::ranges::reverse(reversed);
    app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    command.help = true;
  } catch (const CLI::Error& error) {
    refuse_missing_value(nodes, words);
    user_error("{}", error.what());
  } catch (const std::invalid_argument& error) {  // a switch with a value it does not know
    user_error("{}", error.what());
  }
  std::vector<CLI::App*> next{&app};
  while (!next.empty()) {
    const Node& node = node_of(nodes, next.front());
    command.path.push_back(node.verb);
    if (command.help) {  // help for a verb that is none would look as if there were one
      for (const std::string& word : node.app->remaining()) {
        if (!word.starts_with("-") && !node.verb->verbs.empty()) refuse_word(command.path, word);
      }
    } else {
      // a value that is missing makes the words behind it look unknown, so values come first
      take_arguments(node, command.arguments);
      const std::vector<std::string> unknown = node.app->remaining();
      if (!unknown.empty()) refuse_word(command.path, unknown.front());
      check_required(command.path, command.arguments);
    }
    next = node.app->get_subcommands();
  }
  return command;
}

}  // namespace plait::cli
