// plait train: the verb. Its config comes from flags and files and is settled here; train_run
// trains, train_result shows the result.
#include "session/train.hpp"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "base/error.hpp"
#include "base/text.hpp"
#include "cli/fields.hpp"
#include "cli/live.hpp"
#include "cli/measuring_line.hpp"
#include "cli/out_place.hpp"
#include "cli/terminal.hpp"
#include "cli/train_result.hpp"
#include "cli/train_run.hpp"
#include "cli/verbs.hpp"
#include "planner/advice.hpp"
#include "session/agreement.hpp"

namespace plait::cli {

namespace {

/// mpirun -n N is as good as --workers N: a run of other workers goes on with those that are there.
FlagValues flags_of(const Arguments& arguments, const transport::MpiWorld* mpi) {
  FlagValues flags = field_flags(arguments);
  const auto given = [&](const char* key) { return flags.contains(key); };
  if (mpi != nullptr && given("resume") && !given("workers") && !given("nodes") &&
      !given("workers_per_node")) {
    flags["workers"] = std::to_string(mpi->size());
  }
  return flags;
}

/// Each would train alone, and overwrite what the others write.
void check_launcher() {
  const int tasks = transport::unconnected_tasks();
  if (tasks == 0) return;
  const char* number = std::getenv("SLURM_PROCID");
  if (number != nullptr && std::string_view(number) != "0") throw session::QuietExit{2};
  user_error(
      "srun started {} tasks that know nothing of each other; start them with srun --mpi=pmix "
      "(srun "
      "--mpi=list has the names), or with -n 1; to train {} times alone: srun env -u "
      "SLURM_STEP_NUM_TASKS -u SLURM_STEP_ID plait train ...",
      tasks, tasks);
}

int run_train(const Arguments& arguments, transport::MpiWorld* mpi) {
  check_launcher();
  session::TrainConfig config =
      resolve_config(arguments.text("--config", ""), flags_of(arguments, mpi));
  session::check_config(config);
  if (const std::string* file = arguments.find("--schedule-picture")) {
    check_file_place(*file, "--schedule-picture", ".svg");
    if (config.trace_steps == 0) {
      user_error("--schedule-picture draws the traced steps; omit --trace-steps 0");
    }
  }
  const bool quiet = arguments.on("--quiet");
  const session::SettledRun run =
      session::settle(std::move(config), {.mpi = mpi, .progress = measuring_line(quiet)});
  if (!quiet && (mpi == nullptr || mpi->rank() == 0)) {
    for (const std::string& note : run.notes) tell("{}", planner::folded(note));
  }
  const InterruptGuard guard;
  const std::unique_ptr<Live> live = mpi == nullptr || mpi->rank() == 0
                                         ? live_of(arguments, run.config, recipe(run.config))
                                         : nullptr;
  const Surroundings around{.guard = guard,
                            .mpi = mpi,
                            .live = live.get(),
                            .quiet = quiet,
                            .wants_sync = arguments.text("--pipeline", "") == "sync"};
  Expected expected;
  const session::TrainResult result = run_training(run, around, expected);
  if (mpi != nullptr && mpi->rank() != 0) return result.interrupted ? 1 : 0;
  const auto show = [&] {
    const int code = present(result, expected, arguments, guard);
    if (live) {
      ExtraFiles page;
      page.write([&] { live->ended(result); });
      page.warn();
    }
    return code;
  };
  if (mpi == nullptr) return show();
  try {
    return show();
  } catch (const std::exception& error) {  // the other processes have nothing to agree on any more
    tell("plait: {}\n", error.what());
    throw session::QuietExit{dynamic_cast<const UserError*>(&error) != nullptr ? 2 : 1};
  }
}

}  // namespace

Verb train_verb(transport::MpiWorld* mpi) {
  std::vector<Option> options = field_options();
  options.push_back({.name = "--config",
                     .value = "FILE.toml",
                     .help = "settings from a file; flags override it",
                     .group = "Other"});
  options.push_back({.name = "--schedule-picture",
                     .value = "FILE.svg",
                     .help = "draw the last steps of every worker",
                     .group = "Other"});
  for (Option& option : live_options()) options.push_back(std::move(option));
  options.push_back({.name = "--json",
                     .value = "",
                     .help = "one JSON object on stdout at the end",
                     .group = "Other"});
  options.push_back(
      {.name = "--quiet", .value = "", .help = "no progress on stderr", .group = "Other"});
  return {.name = "train",
          .about = "Train a network.",
          .examples = {"plait train --model lenet --data glyphs --epochs 3",
                       "plait train --config runs/001-lenet/config.toml --lr 0.01 --json",
                       "plait train --resume --run-dir runs/001-lenet --epochs 10",
                       "plait train --model vgg16 --data cifar10:DIR --strategy "
                       "data_parallel "
                       "--workers 2",
                       "mpirun -n 4 plait train --model vgg16 --data cifar10:DIR "
                       "--strategy "
                       "data_parallel"},
          .options = std::move(options),
          .run = [mpi](const Arguments& arguments) { return run_train(arguments, mpi); }};
}

}  // namespace plait::cli
