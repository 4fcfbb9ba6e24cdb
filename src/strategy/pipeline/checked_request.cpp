// The checks that all pipelines share, and the settings they complete.
#include "strategy/pipeline/checked_request.hpp"

#include "base/error.hpp"
#include "cost/analytic.hpp"

namespace plait::strategy::pipeline {

namespace {

void check_chain(const PlanRequest& request) {
  const plan::Network& network = request.network;
  for (int b = 0; b < network.size(); ++b) {
    const plan::NetworkBlock& block = network.blocks[static_cast<std::size_t>(b)];
    if (block.src == b && block.dst == b + 1) continue;
    user_error(
        "block {} reads tensor {} instead of the result of the block before it: a pipeline is "
        "cut where one tensor crosses; put the skip and what it spans into one block",
        block.name, block.src);
  }
}

void check_clip(const PlanRequest& request) {
  if (!request.clip) return;
  user_error(
      "`clip_norm` needs the gradients of the whole network on every worker before the first "
      "update, which a pipeline has not: leave it away, or use {}",
      request.machine.workers() == 1 ? "serial" : "data_parallel");
}

}  // namespace

CheckedRequest::CheckedRequest(const PlanRequest& given) : request_(given) {
  if (request_.cost == nullptr) {
    counted_ = cost::make_analytic_cost(given.network);
    request_.cost = counted_.get();
  }
  check_chain(request_);
  check_clip(request_);
  check_microbatches(request_.microbatches, request_.batch);
}

void too_many_workers(const PlanRequest& request, int most, const char* of_what) {
  setting_error("workers", request.machine.workers(),
                "are more than a pipeline can use: {} has {} blocks to give {}; use at most {} "
                "workers",
                request.network.name, request.network.size(), of_what, most);
}

}  // namespace plait::strategy::pipeline
