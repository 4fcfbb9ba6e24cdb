#include "cli/program.hpp"

#include <fcntl.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <new>

#include "base/error.hpp"
#include "cli/command_line.hpp"
#include "cli/help.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"

namespace plait {

namespace {

constexpr const char* kVersion = "0.1.0";

Verb program() {
  return {.name = "plait",
          .about = "plait trains deep networks on many workers.",
          .examples = {"plait train --model lenet --data glyphs",
                       "plait profile --model vgg16 --batch 64"},
          .options = {{.name = "--version", .value = "", .help = "print the version"}},
          .verbs = {train_verb(), eval_verb(), profile_verb(), data_verb(), models_verb()}};
}

int dispatch(const std::vector<std::string>& words) {
  const Verb plait = program();
  const Command command = parse_command_line(plait, words);
  const Verb& verb = *command.path.back();
  if (command.help) {
    fmt::print("{}", help_text(command.path));
    return 0;
  }
  if (command.arguments.on("--version")) {
    fmt::print("plait {}\n", kVersion);
    return 0;
  }
  if (!verb.run) {
    std::string name;
    for (const Verb* part : command.path) name += (name.empty() ? "" : " ") + part->name;
    user_error("no verb after '{}'; there are: {}; {} --help says more", name, verb_names(verb),
               name);
  }
  return verb.run(command.arguments);
}

/// Messages may quote files and other libraries: whatever they hold, it stays one line.
int report(std::string message, int code) {
  std::ranges::replace_if(
      message, [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
  tell("plait: {}\n", message);
  return code;
}

/// A closed stdin, stdout or stderr would give its number to the next file opened, and our messages
/// would land in a checkpoint. Read only, so that printing a result there still fails.
void keep_standard_files() {
  for (int fd : {0, 1, 2}) {
    if (fcntl(fd, F_GETFD) < 0) open("/dev/null", O_RDONLY);
  }
}

int guarded(const std::vector<std::string>& words) {
  try {
    const int code = dispatch(words);
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) fail("cannot write to stdout");
    return code;
  } catch (const UserError& error) {
    return report(error.what(), 2);
  } catch (const std::bad_alloc&) {
    return report("not enough memory; try a smaller --batch", 1);
  } catch (const std::exception& error) {
    return report(error.what(), 1);
  }
}

}  // namespace

int run_program(const std::vector<std::string>& words) {
  keep_standard_files();
  std::signal(SIGPIPE, SIG_IGN);  // a reader that left is an error of that write, not our end
  return guarded(words);
}

}  // namespace plait
