// Verb: a command of the program as a plain value: its name, help, options and what it does. Says
// nothing about how a command line is parsed or how help is laid out.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "graph/toml_value.hpp"

namespace plait::cli {

/// What a user typed, checked for known names only.
class Arguments {
 public:
  void set(std::string name, std::vector<std::string> values) {
    values_[std::move(name)] = std::move(values);
  }
  /// Null when not typed. A switch has the value "true" or "false".
  const std::string* find(std::string_view name) const;
  /// Of an argument that may be repeated.
  std::vector<std::string> all(std::string_view name) const;
  bool on(std::string_view name) const;
  std::string text(std::string_view name, const std::string& otherwise) const;
  std::int64_t integer(const std::string& name, std::int64_t otherwise, graph::Range range) const;

 private:
  std::map<std::string, std::vector<std::string>, std::less<>> values_;  ///< none is empty
};

struct Option {
  std::string name;   ///< "--lr"; without dashes it is an argument by position ("SPEC")
  std::string value;  ///< what stands for the value in the help; "" for a switch
  std::string help;
  std::string standard{};  ///< the default, for the help
  std::string group = "Options";
  bool required = false;
  bool repeated = false;        ///< of an argument by position: one or more
  bool value_optional = false;  ///< the flag may stand alone; its value is "" then

  bool positional() const { return !name.starts_with('-'); }
  bool is_switch() const { return value.empty() && !positional(); }
  /// A switch that is on is for people who turn it off: its name and help are those of doing so.
  bool turns_off() const { return is_switch() && standard == "true"; }
  std::string shown_name() const { return turns_off() ? "--no-" + name.substr(2) : name; }
  std::string shown_help() const { return turns_off() ? "do not " + help : help; }
};

struct Verb {
  std::string name;
  std::string about;  ///< one line
  std::vector<std::string> examples;
  std::vector<Option> options{};
  std::vector<Verb> verbs{};                   ///< where it has verbs of its own
  std::function<int(const Arguments&)> run{};  ///< gives the exit code
};

/// "train, eval, profile".
std::string verb_names(const Verb& verb);

}  // namespace plait::cli
