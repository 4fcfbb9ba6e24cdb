// plait train: the config from flags and files, the training with its progress, the result.
#include "run/train.hpp"

#include <cstdio>
#include <new>

#include "base/error.hpp"
#include "cli/interrupt.hpp"
#include "cli/json.hpp"
#include "cli/progress.hpp"
#include "cli/terminal.hpp"
#include "cli/text.hpp"
#include "cli/verbs.hpp"

namespace plait {

namespace {

/// What config.toml of the run folder says: without the folder's own place, so that it can be
/// replayed.
std::string recipe(TrainConfig config) {
  config.run_dir.clear();
  config.resume = false;
  std::string text = write_config(config);
  GivenConfig again;
  parse_config(text, "config.toml",
               again);  // a text that is not UTF-8 is refused now, not at --resume
  if (!(again.config == config)) fail("config.toml would not read back as it was written");
  return text;
}

[[noreturn]] void out_of_memory(const TrainConfig& config) {
  if (config.batch == 1) fail("not enough memory for --model {} even with --batch 1", config.model);
  fail(
      "not enough memory for --model {} with --batch {}; try --batch {}, activations need half as "
      "much",
      config.model, config.batch, config.batch / 2);
}

std::string quoted_for_shell(const std::string& text) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:+,@%";
  if (!text.empty() && text.find_first_not_of(plain) == std::string::npos) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

void print_interrupted(const TrainResult& result) {
  if (result.run_dir.empty()) {
    tell("stopped after step {}; nothing was kept (--run-dir none)\n", result.steps);
  } else {
    tell("stopped after step {}; go on with: plait train --resume --run-dir {}\n", result.steps,
         quoted_for_shell(result.run_dir));
  }
}

void print_summary(const TrainResult& result) {
  tell("done: {} epoch(s), {} step(s) in {:.1f} s, {} images/s, at most {} of memory\n",
       result.epochs, result.steps, result.seconds,
       with_commas(static_cast<std::int64_t>(result.images_per_second)),
       with_bytes(result.peak_memory_bytes));
  tell("{}train loss {:.4f}, test loss {:.4f}, weights {}\n",
       result.test_accuracy ? fmt::format("test accuracy {:.2f}%, ", 100 * *result.test_accuracy)
                            : "",
       result.train_loss, result.test_loss, result.weights_hash);
  if (!result.run_dir.empty()) {
    tell("run folder {}; next: plait eval --run {}\n", result.run_dir,
         quoted_for_shell(result.run_dir));
  }
}

TrainResult run_training(const TrainConfig& config, const InterruptGuard& guard, bool quiet) {
  Progress progress(find_terminal(), quiet);
  try {
    return train(config, recipe(config), progress, guard.flag());
  } catch (const std::bad_alloc&) {
    out_of_memory(config);
  }
}

int run_train(const Arguments& arguments) {
  TrainConfig config = resolve_config(arguments.text("--config", ""), field_flags(arguments));
  check_config(config);
  // Bits are promised for equal threads: a resumed run takes the number of the first one.
  config.threads = threads_per_worker(config);
  const InterruptGuard guard;
  const TrainResult result = run_training(config, guard, arguments.on("--quiet"));
  if (arguments.on("--json")) {
    fmt::print("{}\n", to_json(result, static_cast<int>(config.threads)));
  } else if (!result.interrupted) {
    print_summary(result);
  }
  if (!result.interrupted) return 0;
  print_interrupted(result);
  return 128 + guard.signal();
}

}  // namespace

Verb train_verb() {
  std::vector<Option> options = field_options();
  options.push_back({.name = "--config",
                     .value = "FILE.toml",
                     .help = "settings from a file; flags override it",
                     .group = "Other"});
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
                       "plait train --resume --run-dir runs/001-lenet --epochs 10"},
          .options = std::move(options),
          .run = run_train};
}

}  // namespace plait
