// The list of verbs, exit codes, messages on stderr, and how an MPI job runs a verb.
#include "cli/program.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <functional>
#include <new>
#include <optional>
#include <system_error>

#include "base/error.hpp"
#include "cli/command_line.hpp"
#include "cli/help.hpp"
#include "cli/manual.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "run/status.hpp"
#include "session/agreement.hpp"

namespace plait::cli {

namespace {

Verb program(transport::MpiWorld* mpi) {
  return {.name = "plait",
          .about = "plait trains deep networks on many workers.",
          .examples = {"plait train --model lenet --data glyphs",
                       "plait plan --model vgg16 --batch 128 --workers 1,2,4,8",
                       "plait profile --model vgg16 --batch 64"},
          .options = {{.name = "--version", .value = "", .help = "print the version"},
                      {.name = "--man", .value = "", .help = "print the manual page, for man"},
                      {.name = "--completion",
                       .value = "",
                       .help = "print the completion script for bash"}},
          .verbs = {train_verb(mpi), plan_verb(), profile_verb(), partition_verb(), prune_verb(),
                    eval_verb(), report_verb(), export_verb(), import_verb(), infer_verb(),
                    data_verb(), models_verb()}};
}

int perform(const Command& command) {
  const Verb& verb = *command.path.back();
  if (command.help) {
    fmt::print("{}", help_text(command.path));
    return 0;
  }
  if (command.arguments.on("--version")) {
    fmt::print("plait {}\n", PLAIT_VERSION);
    return 0;
  }
  if (command.arguments.on("--man")) {
    fmt::print("{}", man_page(*command.path.front(), PLAIT_VERSION));
    return 0;
  }
  if (command.arguments.on("--completion")) {
    fmt::print("{}", bash_completion(*command.path.front()));
    return 0;
  }
  if (!verb.run) {
    std::string name;
    for (const Verb* part : command.path) name += (name.empty() ? "" : " ") + part->name;
    user_error("no verb after '{}'; choose from: {}; see {} --help", name, verb_names(verb), name);
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

/// The exit code of body(), or of what it threw, which is said in one line.
int guarded(const std::function<int()>& body) {
  try {
    const int code = body();
    errno = 0;
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
      if (errno == EPIPE) return 128 + SIGPIPE;  // the reader has seen enough
      fail("cannot write to stdout");
    }
    return code;
  } catch (const UserError& error) {
    return report(error.what(), 2);
  } catch (const std::bad_alloc&) {
    return report("not enough memory; try a smaller --batch", 1);
  } catch (const session::QuietExit& quiet) {
    return quiet.code;
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::broken_pipe) return 128 + SIGPIPE;
    return report(error.what(), 1);
  } catch (const std::exception& error) {
    return report(error.what(), 1);
  }
}

int run_alone(const std::vector<std::string>& words) {
  return guarded([&] {
    const Verb plait = program(nullptr);
    return perform(parse_command_line(plait, words));
  });
}

/// As one process of an MPI job. The processes agree on the verb; only train is for all of them,
/// anything else is done by the first. An error before training begins is common to all processes
/// or it is not: either way one of them says it, and all end.
int run_together(const std::vector<std::string>& words, transport::MpiWorld& mpi) {
  const Verb plait = program(&mpi);
  std::optional<Command> command;
  session::Standing standing{.error = {}, .text = {}, .what = "verb"};
  try {
    command = parse_command_line(plait, words);
    standing.text = command->path.back()->name + (command->help ? " --help" : "");
  } catch (...) {
    standing.error = std::current_exception();
  }
  const int refused = guarded([&] {
    session::agree(*mpi.control_group(), standing);
    return 0;
  });
  if (refused != 0) return refused;
  if (command->help || command->path.back()->name != "train") {
    return mpi.rank() == 0 ? guarded([&] { return perform(*command); }) : 0;
  }
  return guarded([&] {
    try {
      return perform(*command);
    } catch (const std::exception&) {  // train() itself never lets one out
      session::agree(*mpi.control_group(), {.error = std::current_exception()});
      return 1;
    }
  });
}

}  // namespace

int run_program(const std::vector<std::string>& words) {
  keep_standard_files();
  std::signal(SIGXFSZ, SIG_IGN);  // a limit on files is an error of that write as well
  std::signal(SIGPIPE, SIG_IGN);  // a reader that left is an error of that write, not our end
  if (!transport::launched_by_mpi()) return run_alone(words);
  std::unique_ptr<transport::MpiWorld> mpi;
  const int failed = guarded([&] {
    mpi = transport::make_mpi_world(run::kStatusBytes);
    return 0;
  });
  return failed != 0 ? failed : run_together(words, *mpi);
}

}  // namespace plait::cli
