// The flags that plait plan has of its own, and those of the settings that decide a plan.
#include "cli/plan_options.hpp"

#include <fmt/ranges.h>

#include "cli/fields.hpp"
#include "cli/plan_subject.hpp"
#include "cli/verbs.hpp"
#include "planner/planner.hpp"

namespace plait::cli {

namespace {

/// The settings that decide a plan, but for those that `plait plan` has in another form.
std::vector<std::string_view> plan_fields() {
  std::vector<std::string_view> keys{"optimizer", "momentum", "clip_norm"};
  for (const Setting<planner::PlanSettings>& row : planner::plan_settings()) {
    if (row.decides_plan && row.key != "strategy") keys.push_back(row.key);
  }
  for (const Setting<planner::CostSettings>& row : planner::cost_settings()) {
    if (row.key != "profile") keys.push_back(row.key);
  }
  return keys;
}

std::vector<Option> own_options() {
  return {
      {.name = "--model", .value = "NAME|FILE.toml", .help = "network; plait models lists them"},
      {.name = "--data-shape",
       .value = "CxHxW",
       .help = "of one sample; left away: what the network is usually fed"},
      {.name = "--classes",
       .value = "N",
       .help = "outputs, if a file leaves them open",
       .standard = "10"},
      {.name = "--profile",
       .value = "FILE",
       .help = "costs from plait profile --out, or PipeDream's profiles",
       .group = "Costs for the planner"},
      {.name = "--threads",
       .value = "N",
       .help = "per worker, where costs are measured; 0: cores / most workers of a "
               "node",
       .standard = "0",
       .group = "Costs for the planner"},
      {.name = "--strategies",
       .value = "LIST",
       .help = fmt::format("all, or names with commas, of {}",
                           fmt::join(strategy::strategy_names(), ", ")),
       .standard = "all"},
      {.name = "--workers",
       .value = "LIST",
       .help = "numbers of workers to compare",
       .standard = "1,2,4,8",
       .group = "Machine"},
      {.name = "--nodes",
       .value = "N",
       .help = "that share the workers",
       .standard = "1",
       .group = "Machine"},
      {.name = "--workers-per-node",
       .value = "N",
       .help = "instead of --workers",
       .group = "Machine"},
      {.name = "--link-between-nodes",
       .value = "RATE[,LATENCY]",
       .help = "of each node",
       .standard = plan::to_text(plan::kUsualBetween),
       .group = "Machine"},
      {.name = "--link-inside-node",
       .value = "RATE[,LATENCY]",
       .help = "between two workers",
       .standard = plan::to_text(plan::kUsualInside),
       .group = "Machine"},
      {.name = "--out", .value = "FILE", .help = "the best plan as a file for plait train --plan"},
      {.name = "--plan",
       .value = "FILE",
       .help = "show the plan of such a file; nothing is planned"},
      {.name = "--show", .value = "", .help = "the plans themselves"},
      {.name = "--trace",
       .value = "FILE",
       .help = "the last plan's simulated timeline, for ui.perfetto.dev"},
      {.name = "--schedule-picture",
       .value = "FILE.svg",
       .help = "the last plan's simulated schedule, drawn"},
      {.name = "--json", .value = "", .help = "one JSON object on stdout"}};
}

}  // namespace

session::TrainConfig plan_config(const Arguments& arguments, std::int64_t batch) {
  session::TrainConfig settings;
  settings.batch = batch;
  for (const std::string_view key : plan_fields()) {
    const Field& field = *find_field(key);
    const std::string flag = flag_of(field);
    if (const std::string* value = arguments.find(flag)) {
      set_from_text(settings, field, *value, flag);
    }
  }
  session::check_config(settings);
  return settings;
}

std::vector<Option> plan_options() {
  std::vector<Option> options = own_options();
  for (Option& option : field_options(plan_fields())) {
    if (option.name == "--cost") {
      option.help =
          "measured (on this machine, once: kept in the cache), again (now), analytic (counted, "
          "for another machine), or systolic:128x128 (clock cycles of such an array)";
      option.standard = "measured";
    }
    options.push_back(std::move(option));
  }
  return options;
}

}  // namespace plait::cli
