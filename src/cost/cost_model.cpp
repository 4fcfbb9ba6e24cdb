// The seconds of one task of a plan by a CostModel: the share of the samples, joins, repeated
// blocks and clipping.
#include "cost/cost_model.hpp"

#include "cost/analytic.hpp"

namespace plait {

BlockSeconds CostModel::added(const Network& network, int block, std::int64_t samples) const {
  return analytic_seconds(network, block, samples);
}

double clip_seconds(const CostModel& cost, const Plan& plan, int worker, int busy) {
  std::int64_t parameters = 0;
  for (const Task& task : plan.programs[static_cast<std::size_t>(worker)].tasks) {
    if (task.kind == TaskKind::update) {
      parameters += plan.network.blocks[static_cast<std::size_t>(task.block)].parameters;
    }
  }
  return cost.sum(4 * parameters, 1) * cost.contention(busy);
}

namespace {

BlockSeconds block_seconds(const CostModel& cost, const Plan& plan, const Task& task,
                           std::int64_t samples) {
  const NetworkBlock& block = plan.network.blocks[static_cast<std::size_t>(task.block)];
  if (block.added) return cost.added(plan.network, task.block, samples);
  if (block.whole < 0) return cost.block(task.block, samples);
  BlockSeconds seconds = cost.block(block.whole, samples);
  seconds.forward *= block.share;
  seconds.backward_data *= block.share;
  seconds.backward_weights *= block.share;
  seconds.update *= block.share;
  return seconds;
}

}  // namespace

double task_seconds(const CostModel& cost, const Plan& plan, const Task& task, int busy) {
  const std::int64_t samples = task.samples.count(plan.batch);
  const double slower = cost.contention(busy);
  switch (task.kind) {
    case TaskKind::load: return slower * cost.load(samples);
    case TaskKind::forward: return slower * block_seconds(cost, plan, task, samples).forward;
    case TaskKind::loss: return slower * cost.loss(samples);
    case TaskKind::backward_data:
      return slower * block_seconds(cost, plan, task, samples).backward_data;
    case TaskKind::backward_weights:
      return slower * block_seconds(cost, plan, task, samples).backward_weights;
    case TaskKind::clip: return slower * cost.sum(4 * plan.network.parameters(), 1);
    case TaskKind::update: return slower * block_seconds(cost, plan, task, samples).update;
    case TaskKind::send:
    case TaskKind::receive:
    case TaskKind::reduce_start:
    case TaskKind::reduce_sum:
    case TaskKind::reduce_finish: break;
  }
  return 0;
}

}  // namespace plait
