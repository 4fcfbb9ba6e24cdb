// Reads and writes config files, and merges defaults, file, flags and a resumed run's own settings;
// refuses changes that a resumed run cannot take.
#include "cli/config_file.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "base/error.hpp"
#include "base/in_file.hpp"
#include "base/nearest.hpp"
#include "checkpoint/store.hpp"
#include "cli/config_paths.hpp"
#include "cli/fields.hpp"
#include "cli/flag_text.hpp"
#include "planner/planner.hpp"
#include "strategy/replicas/exchange_request.hpp"

namespace plait::cli {

namespace {

constexpr std::string_view kMadeIn = "made_in";  // the only key that is no setting

/// Who names workers anew means all of the machine: what an older source said of it, and the
/// threads that fitted it, no longer hold.
void forget_old_machine(session::TrainConfig& config,
                        const std::set<std::string, std::less<>>& newer) {
  const session::TrainConfig fresh;
  const auto has = [&](std::string_view key) { return newer.contains(key); };
  if (!has("workers") && !has("nodes") && !has("workers_per_node")) return;
  if (!has("workers")) config.workers = fresh.workers;
  if (!has("nodes")) config.nodes = fresh.nodes;
  if (!has("workers_per_node")) config.workers_per_node = fresh.workers_per_node;
  if (!has("nodes") && !has("link_between_nodes")) config.link_between_nodes.clear();
  if (!has("threads")) config.threads = fresh.threads;
}

/// What `given` sets, on top of the run's own config.
/// Words that a run turns into a number when it begins: its folder has the number, which stays.
bool means_what_it_was(const Field& field, const session::TrainConfig& given) {
  return (field.key == "lr_scale" && given.lr_scale == "workers") ||
         (field.key == "pieces" && given.pieces == "auto") ||
         (field.key == "outer_lr" && given.outer_lr == strategy::kChosenRate) ||
         (field.key == "outer_momentum" && given.outer_momentum == strategy::kChosenMomentum);
}

/// A run may go on with another strategy, but not with other weights.
void check_network(const session::TrainConfig& run, const session::TrainConfig& now,
                   const std::string& run_file) {
  if (planner::splits_depth(run) == planner::splits_depth(now)) return;
  const bool inner = run.strategy == now.strategy;
  user_error(
      "cannot resume with --{} {}: {} says {}, and only one of them has weights for coarse parts; "
      "omit it, or start a new run with --init FILE (of plait export{})",
      inner ? "inner" : "strategy", inner ? now.inner : now.strategy, run_file,
      inner ? run.inner : run.strategy, planner::splits_depth(run) ? " --serial" : "");
}

session::TrainConfig merge_into_run(const GivenConfig& run, const GivenConfig& given,
                                    const std::string& run_file) {
  session::TrainConfig merged = run.config;
  for (const Field& field : fields()) {
    if (!given.keys.contains(field.key) || means_what_it_was(field, given.config)) continue;
    if (field.decides_bits && !same_files(field, given.config, run.config)) {
      user_error(
          "cannot resume with another {}: {} says {}, now it is {}; omit {}, or start a new "
          "run without --resume",
          field.key, run_file, toml_of(run.config, field), toml_of(given.config, field),
          flag_of(field));
    }
    copy_field(field, given.config, merged);
  }
  check_network(run.config, merged, run_file);
  forget_old_machine(merged, given.keys);
  // Bits are promised for equal plans and threads; only other workers deserve other threads.
  const bool same =
      session::machine_of(merged).workers() == session::machine_of(run.config).workers();
  if (same && !given.keys.contains("threads")) merged.threads = run.config.threads;
  return merged;
}

session::TrainConfig resume(const GivenConfig& given) {
  const std::string& run_dir = given.config.run_dir;
  if (run_dir.empty() || run_dir == "none") {
    user_error("--resume needs the folder of the run; add --run-dir DIR (runs are below runs/)");
  }
  const std::filesystem::path file = std::filesystem::path(run_dir) / "config.toml";
  std::error_code error;
  if (!std::filesystem::exists(file, error)) {
    if (checkpoint::CheckpointStore(file.parent_path() / "checkpoints").latest()) {
      user_error(
          "{} has checkpoints but no config.toml; put it back (state.json of a checkpoint "
          "holds its text)",
          run_dir);
    }
    if (!given.keys.contains("model")) {
      user_error("there is no run in {}; omit --resume to start one, or add --model", run_dir);
    }
    return given.config;
  }
  GivenConfig run;
  read_config_file(file, run);
  check_unchanged(run, file);
  return merge_into_run(run, given, file.string());
}

}  // namespace

void parse_config(std::string_view text, const std::string& file, GivenConfig& into) {
  const graph::TomlValue document = graph::parse_toml(text, file);
  for (const graph::TomlEntry& entry : std::get<graph::TomlValue::Table>(document.data)) {
    const std::string key = entry.key.substr(0, 60);
    if (const auto* made = std::get_if<std::string>(&entry.value.data); key == kMadeIn && made) {
      into.made_in = *made;
      continue;
    }
    const Field* field = find_field(entry.key);
    if (field == nullptr) {
      user_error("{}:{}: unknown key '{}'{}; plait train --help lists them", file, entry.key_line,
                 key, did_you_mean(key, field_keys()));
    }
    set_from_toml(into.config, *field, entry.value,
                  fmt::format("{}:{}: {}", file, entry.value.line, key));
    into.keys.insert(entry.key);
  }
}

void read_config_file(const std::filesystem::path& path, GivenConfig& into) {
  std::error_code error;
  check_input_file(path);
  if (!std::filesystem::exists(path, error)) {
    user_error("{}: there is no such config file", path.string());
  }
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  // an empty file sets failbit on `text`, not on `stream`
  if (!stream) user_error("{}: cannot read the config file", path.string());
  parse_config(text.str(), path.string(), into);
  resolve_paths(into.config, into.made_in);
}

void check_unchanged(const GivenConfig& run, const std::filesystem::path& file) {
  const std::string text =
      checkpoint::CheckpointStore(file.parent_path() / "checkpoints").latest_config();
  if (text.empty()) return;
  GivenConfig saved;
  parse_config(text, "the config of the newest checkpoint", saved);
  for (const Field& field : fields()) {
    if (!field.decides_bits || !saved.keys.contains(field.key)) continue;
    if (equal_in(field, run.config, saved.config)) continue;
    // Files may have moved: what is in them is compared when they are read.
    if (names_files(field) && run.keys.contains(field.key)) continue;
    user_error("{}: {} is {}, but the run was made with {}; put it back", file.string(), field.key,
               run.keys.contains(field.key) ? toml_of(run.config, field) : "missing",
               toml_of(saved.config, field));
  }
}

std::string write_config(const session::TrainConfig& config, const std::string& made_in) {
  std::string text = "# plait train --config THIS_FILE; every key is also a flag\n";
  if (!made_in.empty()) {
    text +=
        fmt::format("{} = {} # relative paths are relative to it\n", kMadeIn, toml_string(made_in));
  }
  std::vector<std::string_view> groups;
  for (const Field& field : fields()) {
    if (std::ranges::find(groups, field.group) == groups.end()) groups.push_back(field.group);
  }
  for (const std::string_view group : groups) {
    text += fmt::format("\n# {}\n", group);
    for (const Field& field : fields()) {
      if (field.group != group) continue;
      text +=
          fmt::format("{:<36} # {}\n", fmt::format("{} = {}", field.key, toml_of(config, field)),
                      with_flags(field.help));
    }
  }
  return text;
}

session::TrainConfig resolve_config(const std::string& file, const FlagValues& flags) {
  GivenConfig given;
  if (!file.empty()) read_config_file(file, given);
  std::set<std::string, std::less<>> from_flags;
  for (const Field& field : fields()) {
    const auto flag = flags.find(field.key);
    if (flag == flags.end()) continue;
    set_from_text(given.config, field, flag->second, flag_of(field));
    from_flags.insert(std::string(field.key));
  }
  forget_old_machine(given.config, from_flags);
  given.keys.merge(from_flags);
  return given.config.resume ? resume(given) : given.config;
}

}  // namespace plait::cli
