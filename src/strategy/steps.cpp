// Lists the tasks of a microbatch.
#include "strategy/steps.hpp"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.hpp"

namespace plait::strategy {

lower::Schedule empty_schedule(const std::string& strategy, const PlanRequest& request) {
  lower::Schedule schedule{.plan = {.strategy = strategy,
                                    .machine = request.machine,
                                    .network = request.network,
                                    .batch = request.batch,
                                    .microbatches = request.microbatches,
                                    .optimizer_states = request.optimizer_states,
                                    .wire_bytes = request.wire_bytes},
                           .bucket_bytes = request.bucket_bytes,
                           .clip = request.clip};
  schedule.plan.programs.resize(static_cast<std::size_t>(request.machine.workers()));
  return schedule;
}

void list_microbatch(const Microbatch& of, const PlaceTask& place, lower::Schedule& schedule) {
  const plan::Network& network = schedule.plan.network;
  const auto list = [&](const plan::What& what, int block) {
    const plan::Task task{.what = what};
    schedule.items.push_back({.task = task, .worker = place(plan::kind_of(task), block)});
  };
  for (int b = 0; b < network.size(); ++b) {
    list(plan::Forward{.block = b, .samples = of.samples, .moves_state = of.first}, b);
  }
  list(plan::Loss{of.samples}, network.size() - 1);
  for (int b = network.size(); b-- > 0;) {
    const plan::NetworkBlock& block = network.blocks[static_cast<std::size_t>(b)];
    if (network.has_backward(b)) list(plan::BackwardData{.block = b, .samples = of.samples}, b);
    if (block.parameters > 0) list(plan::BackwardWeights{.block = b, .samples = of.samples}, b);
  }
}

void refuse_tied_weights(const plan::Network& network, const std::string& strategy) {
  constexpr std::size_t most = 3;
  std::vector<std::string> names;
  for (int b = 0; b < network.size(); ++b) {
    if (!network.is_tied(b)) continue;
    const auto name = [&](int block) {
      return network.blocks[static_cast<std::size_t>(block)].name;
    };
    names.push_back(fmt::format("{} uses those of {}", name(b), name(network.owner_of(b))));
  }
  if (names.empty()) return;
  const std::size_t more = names.size() - std::min(names.size(), most);
  names.resize(names.size() - more);
  setting_error("strategy", strategy, "cannot share weights between layers: {}{}",
                fmt::join(names, ", "), more > 0 ? fmt::format(", and {} more", more) : "");
}

}  // namespace plait::strategy
