// plait plan: the verb. Every strategy's plan for a network and a machine is played by the
// simulator before anything runs (plan_comparison); plan_text shows the result.
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/error.hpp"
#include "base/out_file.hpp"
#include "cli/out_place.hpp"
#include "cli/plan_comparison.hpp"
#include "cli/plan_options.hpp"
#include "cli/plan_text.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "plan/json.hpp"
#include "plan/text.hpp"
#include "report/perfetto.hpp"
#include "report/schedule_picture.hpp"
#include "session/plan_file.hpp"

namespace plait::cli {

namespace {

/// The best plan that fits, as a file for plait train --plan.
void keep_plan(const Comparison& comparison, const std::string& file) {
  const planner::Outcome& best = comparison.best();
  planner::PlanSettings settings = comparison.settings();
  settings.strategy = best.plan.strategy;
  write_out_file(file, planner::write_plan_document({.plan = best.plan, .settings = settings}));
  tell("the plan of {} on {} worker(s) is in {}; to train with it: plait train --plan {} ...\n",
       best.plan.strategy, best.plan.workers(), file, file);
}

/// plait plan --plan FILE: nothing is planned.
int show_plan_file(const Arguments& arguments, const std::string& file) {
  constexpr std::array<std::string_view, 6> known{"--plan",    "--model", "--data-shape",
                                                  "--classes", "--show",  "--json"};
  for (const Option& option : plan_verb().options) {
    const bool used = std::ranges::find(known, option.name) != known.end();
    if (used || arguments.find(option.name) == nullptr) continue;
    user_error("{} plans anew; with --plan there are: {}", option.name, fmt::join(known, ", "));
  }
  const plan::Plan plan = plan_in_file(arguments, file);
  if (arguments.on("--json")) {
    fmt::print("{}\n", to_json(plan));
  } else {
    fmt::print("{}\n", show(plan));
  }
  return 0;
}

int run_plan(const Arguments& arguments) {
  if (const std::string* file = arguments.find("--plan")) return show_plan_file(arguments, *file);
  if (const std::string* file = arguments.find("--out")) check_file_place(*file, "--out");
  if (const std::string* file = arguments.find("--trace")) check_file_place(*file, "--trace");
  if (const std::string* file = arguments.find("--schedule-picture")) {
    check_file_place(*file, "--schedule-picture", ".svg");
  }
  const Comparison comparison(arguments);
  const planner::Outcome& last = comparison.outcomes().back();
  if (const std::string* file = arguments.find("--out")) keep_plan(comparison, *file);
  if (const std::string* file = arguments.find("--trace")) {
    report::write_perfetto(*file, last.plan, comparison.trace_of(last));
    tell("the simulated trace of {} with {} worker(s) is in {}; open it in ui.perfetto.dev\n",
         last.plan.strategy, last.plan.workers(), *file);
  }
  if (const std::string* file = arguments.find("--schedule-picture")) {
    report::write_schedule_picture(*file, last.plan, comparison.short_trace_of(last));
    tell("the simulated schedule of {} with {} worker(s) is in {}\n", last.plan.strategy,
         last.plan.workers(), *file);
  }
  if (arguments.on("--json")) {
    fmt::print("{}\n", arguments.on("--show") ? to_json(last.plan) : comparison_json(comparison));
  } else if (arguments.on("--show")) {
    for (const planner::Outcome& one : comparison.outcomes()) fmt::print("{}\n", show(one.plan));
  } else {
    fmt::print("{}", comparison_text(comparison));
  }
  return 0;
}

}  // namespace

Verb plan_verb() {
  return {
      .name = "plan",
      .about = "Compare strategies on a machine before anything runs.",
      .examples =
          {"plait plan --model vgg16 --batch 128 --workers 1,2,4,8",
           "plait plan --model resnet1001 --nodes 8 --workers-per-node 4 --out plan.json",
           "plait plan --profile vgg16.json --workers 4 --microbatches 8 --strategies layerpipe "
           "--schedule-picture vgg16.svg"},
      .options = plan_options(),
      .run = run_plan};
}

}  // namespace plait::cli
