// A task's samples at a step, and the weights of a minibatch's samples.
#include "run/worker_context.hpp"

namespace plait::run {

TaskRun WorkerContext::run_of(std::size_t task, std::int64_t step) const {
  const plan::Task& of = program().tasks[task];
  const std::int64_t minibatch = of.when.minibatch_at(step);
  const std::int64_t whole = links.minibatch(minibatch).samples;
  return {.task = task,
          .minibatch = minibatch,
          .step = step,
          .whole = whole,
          .samples = plan::samples_of(of).count(whole)};
}

MinibatchWeights::Sums WorkerContext::weight_of(const TaskRun& at) const {
  const Minibatch minibatch = links.minibatch(at.minibatch);
  if (minibatch.weight) return *minibatch.weight;
  return {static_cast<double>(at.whole), static_cast<double>(program().averages.count(at.whole))};
}

double WorkerContext::mean_scale(const TaskRun& at) const {
  const MinibatchWeights::Sums weight = weight_of(at);
  return weight.averaged == 0 ? 0 : weight.whole / weight.averaged;
}

}  // namespace plait::run
