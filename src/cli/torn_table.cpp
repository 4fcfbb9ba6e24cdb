// Costs of each piece of a torn network, and the speed-up to expect from them.
#include "cli/torn_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.hpp"
#include "simulate/simulate.hpp"

namespace plait::cli {

namespace {

struct PieceFigures {
  std::string first{};
  std::string last{};
  int blocks = 0;            ///< of the model, whatever parts these have
  double seconds = 0;        ///< of the model's blocks
  double added_seconds = 0;  ///< of the coarse part and the way to it
  std::int64_t added_parameters = 0;
};

/// All tasks of one step, whoever does them; a repeated block counts each time.
std::vector<PieceFigures> figures_of(const plan::Plan& plan, const cost::CostModel& cost) {
  std::map<int, PieceFigures> pieces;
  const plan::Network& network = plan.network;
  for (const plan::NetworkBlock& block : network.blocks) {
    PieceFigures& piece = pieces[block.piece];
    if (block.added) {
      if (block.owns_weights()) piece.added_parameters += block.parameters;
      continue;
    }
    if (!block.owns_weights()) continue;
    if (piece.blocks == 0) piece.first = block.spec.name;
    if (piece.last != block.spec.name) ++piece.blocks;
    piece.last = block.spec.name;
  }
  for (const plan::Program& program : plan.programs) {
    for (const plan::Task& task : program.tasks) {
      if (plan::block_of(task) < 0) continue;
      const plan::NetworkBlock& block =
          network.blocks[static_cast<std::size_t>(plan::block_of(task))];
      PieceFigures& piece = pieces[block.piece];
      (block.added ? piece.added_seconds : piece.seconds) +=
          cost::task_seconds(cost, plan, task, 1);
    }
  }
  std::vector<PieceFigures> list;
  for (auto& [number, piece] : pieces) list.push_back(std::move(piece));
  return list;
}

/// One worker and the model as it is, in the same costs.
double serial_seconds(const plan::Plan& plan, const cost::CostModel& cost) {
  double sum = cost.loss(plan.batch) + cost.load(plan.batch);
  for (const plan::NetworkBlock& block : plan.network.blocks) {
    if (block.added || !block.owns_weights()) continue;
    const cost::BlockSeconds seconds = cost.block(block.whole, plan.batch);
    sum += seconds.forward + seconds.backward_data + seconds.backward_weights + seconds.update;
  }
  return sum;
}

}  // namespace

bool is_torn(const plan::Network& network) {
  return std::ranges::any_of(network.blocks,
                             [](const plan::NetworkBlock& block) { return block.piece >= 0; });
}

std::string torn_table(const plan::Plan& plan, const cost::CostModel& cost) {
  const std::vector<PieceFigures> pieces = figures_of(plan, cost);
  std::vector<Row> rows{
      {"piece", "blocks", "of the model", "ms a step", "coarse ms", "added parameters"}};
  std::int64_t added = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const PieceFigures& piece = pieces[i];
    added += piece.added_parameters;
    rows.push_back({fmt::format("{}", i + 1), fmt::format("{}", piece.blocks),
                    piece.blocks > 1 ? piece.first + " .. " + piece.last : piece.first,
                    fmt::format("{:.2f}", 1e3 * piece.seconds),
                    fmt::format("{:.2f}", 1e3 * piece.added_seconds),
                    with_commas(piece.added_parameters)});
  }
  const std::int64_t all = plan.network.parameters();
  const simulate::Simulation played = simulate::simulate(
      plan, cost, {.minibatches = simulate::steady_minibatches(plan), .keep_events = false});
  return fmt::format(
      "{} split into {} pieces; costs: {}\n{}{} parameters added, {:.2f}% of the network's own\n"
      "expected speedup {:.2f}x on {} worker(s), simulated\n",
      plan.network.name, pieces.size(), cost.source(), table(rows, 1), with_commas(added),
      100.0 * static_cast<double>(added) /
          static_cast<double>(std::max<std::int64_t>(1, all - added)),
      serial_seconds(plan, cost) / played.step_seconds, plan.workers());
}

}  // namespace plait::cli
