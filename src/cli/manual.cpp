// The man page as troff text, and a bash completion script.
#include "cli/manual.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "strategy/strategy.hpp"

namespace plait::cli {

namespace {

/// Text as troff takes it: no line begins a request, dashes stay dashes.
std::string plain(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\') {
      escaped += "\\e";
    } else if (c == '-') {
      escaped += "\\-";
    } else {
      escaped += c;
    }
  }
  const bool request = escaped.starts_with('.') || escaped.starts_with('\'');
  return request ? "\\&" + escaped : escaped;
}

std::string option_text(const Option& option) {
  std::string value = option.value;
  if (option.positional() || value.empty()) value = "";
  if (!value.empty() && option.value_optional) value = "[" + value + "]";
  std::string help = option.shown_help();
  if (!option.standard.empty() && !option.is_switch()) help += " [" + option.standard + "]";
  return fmt::format(".TP\n\\fB{}\\fR{}\n{}\n", plain(option.shown_name()),
                     value.empty() ? "" : " \\fI" + plain(value) + "\\fR", plain(help));
}

void append_verb(const Verb& verb, const std::string& name, std::string& text) {
  text += fmt::format(".SS {}\n{}\n", plain(name), plain(verb.about));
  for (const Option& option : verb.options) text += option_text(option);
  if (!verb.examples.empty()) {
    text += ".PP\nExamples:\n.nf\n";
    for (const std::string& example : verb.examples) text += plain(example) + "\n";
    text += ".fi\n";
  }
  for (const Verb& child : verb.verbs) append_verb(child, name + " " + child.name, text);
}

std::string words_of(const Verb& verb) {
  std::vector<std::string> words;
  for (const Verb& child : verb.verbs) words.push_back(child.name);
  for (const Option& option : verb.options) {
    if (!option.positional()) words.push_back(option.shown_name());
  }
  words.emplace_back("--help");
  return fmt::format("{}", fmt::join(words, " "));
}

}  // namespace

std::string man_page(const Verb& program, const std::string& version) {
  std::string text = fmt::format(
      ".TH PLAIT 1 \"\" \"plait {}\" \"User commands\"\n"
      ".SH NAME\nplait \\- trains deep networks on many workers\n"
      ".SH SYNOPSIS\n\\fBplait\\fR \\fIVERB\\fR [\\fIFLAGS\\fR]\n.SH VERBS\n",
      plain(version));
  for (const Verb& verb : program.verbs) append_verb(verb, "plait " + verb.name, text);
  text +=
      ".SH EXIT STATUS\n0: done. 2: something you can mend; one line says what and how. 1: a "
      "failure. 128 + n: ended by signal n.\n";
  return text;
}

std::string bash_completion(const Verb& program) {
  std::string cases;
  for (const Verb& verb : program.verbs) {
    cases += fmt::format("    {}) words='{}' ;;\n", verb.name, words_of(verb));
  }
  const std::string names = fmt::format("{}", fmt::join(strategy::strategy_names(), " "));
  return fmt::format(
      "# For bash: source <(plait --completion)\n"
      "_plait() {{\n"
      "  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} words\n"
      "  case $before in\n"
      "    --strategy|--strategies|--inner)\n"
      "      COMPREPLY=($(compgen -W '{}' -- \"$word\"))\n"
      "      return ;;\n"
      "  esac\n"
      "  case ${{COMP_WORDS[1]}} in\n{}"
      "    *) words='{}' ;;\n"
      "  esac\n"
      "  [ \"$COMP_CWORD\" -gt 1 ] || words='{}'\n"
      "  COMPREPLY=()\n"
      "  case $word in\n"
      "    ''|-*|[a-z]*) COMPREPLY=($(compgen -W \"$words\" -- \"$word\")) ;;\n"
      "  esac\n"
      "}}\n"
      "complete -o default -F _plait plait\n",
      names, cases, words_of(program), words_of(program));
}

}  // namespace plait::cli
