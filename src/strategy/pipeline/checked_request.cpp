// The checks that all pipelines share, and the settings they complete.
#include "strategy/pipeline/checked_request.hpp"

#include "base/error.hpp"
#include "cost/analytic.hpp"

namespace plait::strategy::pipeline {

namespace {

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
