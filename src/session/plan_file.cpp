// Reads plans, and holds a run's settings against the one it is to play.
#include "session/plan_file.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/error.hpp"
#include "base/in_file.hpp"
#include "session/setup.hpp"

namespace plait::session {

namespace {

bool names_plan(const TrainConfig& config) { return !config.plan.empty() && config.plan != "none"; }

/// The run's own copy, so that a run can go on when the file is gone.
std::string file_of(const TrainConfig& config) {
  const std::filesystem::path own = std::filesystem::path(config.run_dir) / "plan.json";
  std::error_code error;
  return config.resume && std::filesystem::exists(own, error) ? own.string() : config.plan;
}

/// A value of the plan's settings in the config.
void take_setting(TrainConfig& config, const Setting<planner::PlanSettings>& row,
                  const planner::PlanDocument& document, const std::string& file) {
  const planner::PlanSettings usual;
  std::visit(
      [&](auto member) {
        const auto& planned = document.settings.*member;
        auto& here = static_cast<planner::PlanSettings&>(config).*member;
        if (here == planned) return;
        if (here != usual.*member && row.decides_plan) {
          setting_error(row.key, here,
                        "is not what the plan in {} was made with; omit it, or plan again", file);
        }
        if (row.decides_plan) here = planned;
      },
      row.member);
}

}  // namespace

planner::PlanDocument read_plan_file(const std::string& file, const graph::ModelSpec* model) {
  check_input_file(file);
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream text;
  if (stream) text << stream.rdbuf();
  if (!stream) user_error("{}: there is no such file; plait plan `out` FILE writes plans", file);
  return planner::read_plan_document(text.str(), file, model);
}

std::optional<planner::PlanDocument> take_given_plan(TrainConfig& config) {
  if (!names_plan(config)) return std::nullopt;
  const std::string file = file_of(config);
  const graph::ModelSpec model = make_outline(config).model;
  planner::PlanDocument document = read_plan_file(file, &model);
  for (const Setting<planner::PlanSettings>& row : planner::plan_settings()) {
    take_setting(config, row, document, file);
  }
  const plan::Machine& machine = document.plan.machine;
  if (config.workers == 0 && config.nodes == 1 && config.workers_per_node == 0) {
    config.workers = machine.workers();
    config.nodes = machine.nodes;
    config.workers_per_node = machine.workers_per_node;
  }
  return document;
}

void check_given_plan(const planner::PlanDocument& document, const TrainConfig& config,
                      const plan::Machine& machine) {
  const plan::Plan& plan = document.plan;
  const std::string file = file_of(config);
  if (plan.machine.nodes != machine.nodes ||
      plan.machine.workers_per_node != machine.workers_per_node) {
    user_error(
        "the plan in {} is for {} node(s) x {} worker(s), but there are {} x {}; start as many, or "
        "plan anew with `plan` none",
        file, plan.machine.nodes, plan.machine.workers_per_node, machine.nodes,
        machine.workers_per_node);
  }
  if (plan.optimizer_states != optim::optimizer_states(config)) {
    user_error("the plan in {} was made for another optimizer than {}; plan with `optimizer` {}",
               file, config.optimizer, config.optimizer);
  }
  const bool clips = std::ranges::any_of(plan.programs, [](const plan::Program& program) {
    return std::ranges::any_of(program.tasks,
                               [](const plan::Task& task) { return plan::is<plan::Clip>(task); });
  });
  if (clips != (config.clip_norm > 0)) {
    user_error("the plan in {} was made {} `clip_norm`; plan again with the same", file,
               clips ? "with" : "without");
  }
}

}  // namespace plait::session
