// The list, and checks of a request that hold for all strategies.
#include "strategy/strategy.hpp"

#include <algorithm>
#include <array>

#include "base/error.hpp"
#include "base/nearest.hpp"
#include "plan/check.hpp"
#include "strategy/data_parallel/data_parallel.hpp"
#include "strategy/parareal/parareal.hpp"
#include "strategy/pipeline/pipelines.hpp"
#include "strategy/replicas/replicas.hpp"
#include "strategy/serial/serial.hpp"
#include "strategy/sparse_rows/sparse_rows.hpp"

namespace plait::strategy {

namespace {

void check_request(const PlanRequest& request) {
  plan::check_machine(request.machine);
  if (request.network.blocks.empty()) user_error("the network has no blocks: nothing to plan");
  if (request.batch < 1) setting_error("batch", request.batch, "must be at least 1");
  if (request.microbatches < 1) {
    setting_error("microbatches", request.microbatches, "must be at least 1");
  }
  if (request.wire_bytes != 4 && request.wire_bytes != 2) {
    user_error("{} bytes of a number on the wire: 4 (fp32) or 2 (bf16)", request.wire_bytes);
  }
  if (request.bucket_bytes < 1) {
    user_error("buckets of {} bytes: at least 1 is needed", request.bucket_bytes);
  }
}

bool clips_what_it_updates(const plan::Program& program) {
  return std::ranges::any_of(program.tasks, plan::is<plan::Clip>) ||
         std::ranges::none_of(program.tasks, plan::is<plan::Update>);
}

}  // namespace

void check_microbatches(int microbatches, std::int64_t batch) {
  if (microbatches <= batch) return;
  setting_error("microbatches", microbatches,
                "are more than the {} samples of `batch`: use at most {}", batch, batch);
}

std::span<const Strategy> strategies() {
  static const std::array<Strategy, 18> all{{
      {.name = "serial", .about = "one worker, plain SGD", .make = make_serial_plan},
      {.name = "data_parallel",
       .about = "every worker a share of the samples; gradients summed while "
                "backward runs",
       .make = make_data_parallel_plan},
      {.name = "layerpipe",
       .about = "forward, backward_data and backward_weights balanced over the "
                "workers",
       .make = make_layerpipe_plan},
      {.name = "layerpipe-replicated",
       .about = "the same, several workers where a piece is long; or a straight pipeline "
                "where that is faster",
       .make = make_layerpipe_replicated_plan},
      {.name = "gpipe",
       .about = "stages; all forwards, then all backwards",
       .make = make_gpipe_plan},
      {.name = "1f1b",
       .about = "stages; one forward, one backward in turn; one update",
       .make = make_1f1b_plan},
      {.name = "1f1b-interleaved",
       .about = "the same with two to four pieces of the network on every worker",
       .make = make_interleaved_plan},
      {.name = "pipedream",
       .about = "stages; one forward, one backward; asynchronous, weights stashed",
       .make = make_pipedream_plan},
      {.name = "pipedream-replicated",
       .about = "the same, several workers where a stage is long",
       .make = make_pipedream_replicated_plan},
      {.name = "pipedream-2bw",
       .about = "the same with two versions of the weights",
       .make = make_pipedream_2bw_plan},
      {.name = "zb-h1",
       .about = "stages; weight gradients fill the bubbles, memory as pipedream",
       .make = make_zb_h1_plan},
      {.name = "zb-h2",
       .about = "the same with twice the microbatches in flight",
       .make = make_zb_h2_plan},
      {.name = "zb-v",
       .about = "the same with two pieces on every worker, there and back; memory as 1f1b",
       .make = make_zb_v_plan},
      {.name = "sparse_rows",
       .about = "every worker some rows of every (sparse) linear layer",
       .make = make_sparse_rows_plan},
      {.name = "parareal",
       .about = "the depth in pieces that run at once, joined by a coarse network",
       .make = make_parareal_plan},
      {.name = "daso",
       .about = "nodes average their weights periodically, in the background; any strategy "
                "inside a node",
       .make = make_daso_plan,
       .mode = daso_mode},
      {.name = "local_sgd",
       .about = "nodes average their weights every so many steps; any strategy inside",
       .make = make_local_sgd_plan},
      {.name = "diloco",
       .about = "the same with an outer optimizer on the averaged changes",
       .make = make_diloco_plan},
  }};
  return all;
}

std::vector<std::string> strategy_names() {
  std::vector<std::string> names;
  for (const Strategy& strategy : strategies()) names.push_back(strategy.name);
  return names;
}

void check_strategy(const std::string& name, std::string_view field) {
  const std::vector<std::string> names = strategy_names();
  if (std::ranges::find(names, name) != names.end()) return;
  const std::string shown = name.substr(0, 60);
  setting_error(field, shown, "is no strategy{}; known: {}", did_you_mean(shown, names),
                fmt::join(names, ", "));
}

const Strategy& find_strategy(const std::string& name) {
  check_strategy(name);
  return *std::ranges::find(strategies(), name, &Strategy::name);
}

plan::Plan make_plan(const std::string& strategy, const PlanRequest& request) {
  const Strategy& found = find_strategy(strategy);
  check_request(request);
  plan::Plan plan = found.make(request);
  plan::check_plan(plan);
  if (request.clip && !std::ranges::all_of(plan.programs, clips_what_it_updates)) {
    fail("the plan of strategy {} leaves out `clip_norm`", strategy);
  }
  return plan;
}

}  // namespace plait::strategy
