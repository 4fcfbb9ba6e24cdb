// A transport of one thread around a Worker, and its step counter.
#include "run/solo_worker.hpp"

#include "base/error.hpp"

namespace plait::run {

SoloWorker::SoloWorker(plan::Plan plan, const WorkerOptions& options, std::int64_t traced_steps)
    : plan_(std::move(plan)),
      world_({.nodes = 1, .members_per_node = 1}),
      group_(world_.group(0)),
      trace_(traced_steps),
      worker_(plan_, options,
              {.group = *group_,
               .trace = trace_,
               .status = status_,
               .next_batch = [this](data::Batch& batch) { batch = *batch_; },
               .minibatch =
                   [this](std::int64_t) {
                     return Minibatch{.samples = plan_.batch, .learning_rate = learning_rate_};
                   }}) {
  if (plan_.workers() != 1 || plan_.depth() != 0) {
    fail("a plan of {} workers and depth {} is not for one alone", plan_.workers(), plan_.depth());
  }
}

optim::LossResult SoloWorker::step(const data::Batch& batch, double learning_rate) {
  batch_ = &batch;
  learning_rate_ = learning_rate;
  worker_.play(steps_, {steps_, steps_ + 1});
  ++steps_;
  return worker_.take_losses().front().loss;
}

}  // namespace plait::run
