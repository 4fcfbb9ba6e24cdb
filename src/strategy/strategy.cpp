#include "strategy/strategy.hpp"

#include <algorithm>
#include <array>

#include "base/error.hpp"
#include "base/nearest.hpp"
#include "plan/check.hpp"
#include "strategy/data_parallel/data_parallel.hpp"
#include "strategy/serial/serial.hpp"

namespace plait {

namespace {

void check_request(const PlanRequest& request) {
  check_machine(request.machine);
  if (request.network.blocks.empty()) user_error("the network has no blocks: nothing to plan");
  if (request.batch < 1) user_error("--batch {}: a minibatch has at least 1 sample", request.batch);
  if (request.microbatches < 1) {
    user_error("--microbatches {}: there is at least 1", request.microbatches);
  }
  if (request.wire_bytes != 4 && request.wire_bytes != 2) {
    user_error("{} bytes of a number on the wire: 4 (fp32) or 2 (bf16)", request.wire_bytes);
  }
  if (request.bucket_bytes < 1) {
    user_error("buckets of {} bytes: at least 1 is needed", request.bucket_bytes);
  }
}

}  // namespace

std::span<const Strategy> strategies() {
  static const std::array<Strategy, 2> all{{
      {.name = "serial", .about = "one worker, plain SGD", .make = make_serial_plan},
      {.name = "data_parallel",
       .about = "every worker a share of the samples; gradients summed while backward runs",
       .make = make_data_parallel_plan},
  }};
  return all;
}

std::vector<std::string> strategy_names() {
  std::vector<std::string> names;
  for (const Strategy& strategy : strategies()) names.push_back(strategy.name);
  return names;
}

void check_strategy(const std::string& name) {
  const std::vector<std::string> names = strategy_names();
  if (std::ranges::find(names, name) != names.end()) return;
  const std::string shown = name.substr(0, 60);
  user_error("unknown strategy '{}'{}; known: {}", shown, did_you_mean(shown, names),
             fmt::join(names, ", "));
}

Plan make_plan(const std::string& strategy, const PlanRequest& request) {
  check_strategy(strategy);
  check_request(request);
  Plan plan = std::ranges::find(strategies(), strategy, &Strategy::name)->make(request);
  check_plan(plan);
  return plan;
}

}  // namespace plait
