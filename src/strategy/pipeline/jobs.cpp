// Lists a minibatch under a placement.
#include "strategy/pipeline/jobs.hpp"

#include "strategy/steps.hpp"

namespace plait::strategy::pipeline {

namespace {

Pass3 pass_of(plan::TaskKind kind) {
  switch (kind) {
    case plan::TaskKind::backward_data: return Pass3::backward_data;
    case plan::TaskKind::backward_weights: return Pass3::backward_weights;
    default: return Pass3::forward;
  }
}

/// Every backward_weights follows the backward_data of its block in the list.
template <class Do>
void for_each_pair(std::vector<lower::Item>& items, const Do& act) {
  for (std::size_t i = 0; i + 1 < items.size(); ++i) {
    const bool follows = plan::is<plan::BackwardData>(items[i].task) &&
                         plan::is<plan::BackwardWeights>(items[i + 1].task);
    if (follows) act(static_cast<int>(i), items[i], items[i + 1]);
  }
}

/// What backward_data makes leaves behind backward_weights.
void fuse_backward(std::vector<lower::Item>& items) {
  for_each_pair(items, [](int index, lower::Item& data, const lower::Item&) {
    data.sent_behind = index + 1;
  });
}

void order_backward(std::vector<lower::Item>& items) {
  for_each_pair(items, [](int index, const lower::Item&, lower::Item& weights) {
    weights.after.push_back({.item = index});
  });
}

}  // namespace

lower::Graph make_jobs(const PlanRequest& request, const Placement& placement,
                       const JobOptions& options) {
  lower::Schedule schedule = empty_schedule("", request);
  const int parts = placement.microbatches();
  for (int k = 0; k < parts; ++k) {
    list_microbatch(
        {.samples = plan::part_of(k, parts), .first = k == 0},
        [&](plan::TaskKind kind, int b) { return placement.worker(pass_of(kind), b, k); },
        schedule);
  }
  if (options.fused) fuse_backward(schedule.items);
  // In endless loops they need not, but these are shorter where the gradient that others wait for
  // comes first (measured on random networks).
  if (options.fused || request.pipeline.asynchronous) order_backward(schedule.items);
  return lower::derive(std::move(schedule), request.cost);
}

}  // namespace plait::strategy::pipeline
