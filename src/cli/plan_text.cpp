// The table of plans, notes, advice and refusals; the JSON object.
#include "cli/plan_text.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

#include "base/text.hpp"
#include "cli/torn_table.hpp"
#include "cli/workers_table.hpp"
#include "plan/worker_memory.hpp"
#include "planner/advice.hpp"
#include "planner/choice.hpp"
#include "run/cores.hpp"

namespace plait::cli {

namespace {

/// Where costs are measured here and a node has more workers than this machine can run.
std::string cores_note(const Comparison& all) {
  if (all.cost().source() != "measured") return "";
  const int threads = all.subject().costs->profile()->threads;
  const bool more = std::ranges::any_of(all.machines(), [&](const plan::Machine& machine) {
    return machine.nodes > 1 || machine.workers_per_node * threads > run::usable_cores();
  });
  if (!more) return "";
  return fmt::format("       every worker is taken to be as fast as {} thread{} here\n", threads,
                     threads == 1 ? "" : "s");
}

/// The threads that were planned with are not always those that plait train takes by itself.
std::string train_note(const planner::Outcome& best, const Comparison& all) {
  if (all.cost().source() != "measured" || best.plan.machine.nodes > 1) return "";
  return fmt::format("to train so: plait train --strategy {} --workers {} --threads {} ...\n",
                     best.plan.strategy, best.plan.workers(),
                     all.subject().costs->profile()->threads);
}

std::string workers_text(const planner::Outcome& one) {
  std::vector<WorkerFigures> figures;
  const std::vector<std::int64_t> memories = plan::estimate_memories(one.plan);
  for (std::size_t worker = 0; worker < memories.size(); ++worker) {
    figures.push_back({.busy = one.simulation.busy[worker], .memory = memories[worker]});
  }
  return workers_table(one.plan, figures);
}

}  // namespace

std::string comparison_text(const Comparison& all) {
  std::vector<Row> rows{
      {"strategy", "workers", "step ms", "speed", "busy", "sent/step", "memory", "stale"}};
  const std::vector<const planner::Outcome*> ranked = planner::best_first(all.outcomes());
  std::string notes;
  for (const planner::Outcome* each : ranked) {
    const planner::Outcome& one = *each;
    const int nodes = one.plan.machine.nodes;
    rows.push_back({one.plan.strategy,
                    nodes > 1 ? fmt::format("{} x {}", nodes, one.plan.machine.workers_per_node)
                              : fmt::format("{}", one.plan.workers()),
                    fmt::format("{:.2f}", 1e3 * one.simulation.step_seconds),
                    fmt::format("{:.2f}x", one.speedup),
                    fmt::format("{:.0f}%", 100 * one.simulation.utilisation),
                    with_bytes(one.simulation.bytes_per_step),
                    with_bytes(one.peak_memory) + (all.fits(one) ? "" : "!"),
                    fmt::format("{}", one.staleness)});
    if (one.plan.strategy.find("pipe") != std::string::npos &&
        planner::is_data_parallel(one.plan)) {
      notes += fmt::format(
          "note: {} on {} workers gives every worker the whole network:\n"
          "      this plan is data parallelism{}\n",
          one.plan.strategy, one.plan.workers(),
          one.staleness == 0 ? ""
                             : fmt::format(" with weights up to {} update(s) old", one.staleness));
    }
  }
  std::string text = fmt::format(
      "{}, batch {}; simulated, nothing was run\ncosts: {}\n{}\n{}{}", all.subject().network.name,
      all.subject().batch, all.subject().costs->text(), cores_note(all), table(rows, 1), notes);
  std::vector<const planner::Outcome*> fitting;  // of which one can be recommended
  for (const planner::Outcome& one : all.outcomes()) {
    if (all.fits(one)) fitting.push_back(&one);
  }
  if (fitting.size() < all.outcomes().size()) {
    text += fmt::format("! the workers of a node need more than the {} that are free here\n",
                        with_bytes(all.free_bytes()));
  }
  const std::vector<const planner::Outcome*> advised = planner::best_first(std::move(fitting));
  const std::string advice = planner::plan_advice(advised, all.cost());
  if (!advice.empty()) text += "\n" + advice + train_note(*advised.front(), all);
  if (all.outcomes().size() == 1) {
    const plan::Plan& plan = all.outcomes().front().plan;
    if (is_torn(plan.network)) text += "\n" + torn_table(plan, all.cost());
    text += "\n" + workers_text(all.outcomes().front());
  }
  if (!all.refused().empty()) text += "\n";
  for (const std::string& reason : all.refused())
    text += planner::folded("not possible: " + reason);
  return text;
}

std::string comparison_json(const Comparison& all) {
  nlohmann::ordered_json plans = nlohmann::ordered_json::array();
  for (const planner::Outcome& one : all.outcomes()) {
    plans.push_back({{"strategy", one.plan.strategy},
                     {"workers", one.plan.workers()},
                     {"nodes", one.plan.machine.nodes},
                     {"step_seconds", one.simulation.step_seconds},
                     {"speedup", one.speedup},
                     {"utilisation", one.simulation.utilisation},
                     {"bubble", 1 - one.simulation.utilisation},
                     {"bytes_per_step", one.simulation.bytes_per_step},
                     {"messages_per_step", one.simulation.messages_per_step},
                     {"peak_memory_bytes", one.peak_memory},
                     {"fits", all.fits(one)},
                     {"staleness_max", one.staleness}});
  }
  return nlohmann::ordered_json{{"model", all.subject().network.name},
                                {"batch", all.subject().batch},
                                {"microbatches", all.settings().microbatches},
                                {"cost", all.cost().source()},
                                {"costs", all.subject().costs->text()},
                                {"simulated", true},
                                {"refused", all.refused()},
                                {"plans", std::move(plans)}}
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace plait::cli
