// CheckedRequest: a request whose settings fit every pipeline, with the costs it is planned with.
#pragma once

#include <memory>

#include "cost/cost_model.hpp"
#include "strategy/strategy.hpp"

namespace plait::strategy::pipeline {

/// The request with costs (counted where none were given). UserError where gradients are clipped,
/// or where there are more microbatches than samples.
class CheckedRequest {
 public:
  explicit CheckedRequest(const PlanRequest& given);
  const PlanRequest& request() const { return request_; }

 private:
  PlanRequest request_;
  std::unique_ptr<cost::CostModel> counted_;
};

/// UserError that names the most workers this network can use.
[[noreturn]] void too_many_workers(const PlanRequest& request, int most, const char* of_what);

}  // namespace plait::strategy::pipeline
