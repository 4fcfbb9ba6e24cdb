// The seconds of one task of a plan by a CostModel: the share of the samples, gradients that are
// passed on, repeated blocks and clipping.
#include "cost/cost_model.hpp"

#include "base/overloaded.hpp"
#include "cost/analytic.hpp"

namespace plait::cost {

BlockSeconds CostModel::added(const plan::Network& network, int block, std::int64_t samples) const {
  return analytic_seconds(network, block, samples);
}

double clip_seconds(const CostModel& cost, const plan::Plan& plan, int worker, int busy) {
  std::int64_t parameters = 0;
  for (const plan::Task& task : plan.programs[static_cast<std::size_t>(worker)].tasks) {
    const auto* update = std::get_if<plan::Update>(&task.what);
    if (update == nullptr) continue;
    parameters += plan.network.blocks[static_cast<std::size_t>(update->block)].parameters;
  }
  return cost.sum(4 * parameters, 1) * cost.contention(busy);
}

namespace {

BlockSeconds block_seconds(const CostModel& cost, const plan::Plan& plan, int index,
                           std::int64_t samples) {
  const plan::NetworkBlock& block = plan.network.blocks[static_cast<std::size_t>(index)];
  if (block.added) return cost.added(plan.network, index, samples);
  if (block.whole < 0) return cost.block(index, samples);
  BlockSeconds seconds = cost.block(block.whole, samples);
  seconds.forward *= block.share;
  seconds.backward_data *= block.share;
  seconds.backward_weights *= block.share;
  seconds.update *= block.share;
  return seconds;
}

/// Of a strategy's sum: all that it makes are the gradient of the result, which costs nothing.
bool only_passes(const plan::Network& network, const plan::BackwardData& task) {
  const plan::NetworkBlock& block = network.blocks[static_cast<std::size_t>(task.block)];
  if (!block.is_join()) return false;
  for (std::size_t k = 0; k < block.srcs.size(); ++k) {
    const int src = block.srcs[k];
    if (task.makes(src) && network.has_gradient(src) &&
        (!block.traits.passes(static_cast<int>(k)) || network.adds_gradient(task.block, src))) {
      return false;
    }
  }
  return true;
}

}  // namespace

double task_seconds(const CostModel& cost, const plan::Plan& plan, const plan::Task& task,
                    int busy) {
  const std::int64_t samples = plan::samples_of(task).count(plan.batch);
  const auto block = [&](int index) { return block_seconds(cost, plan, index, samples); };
  const double alone = std::visit(
      overloaded{
          [&](const plan::Load&) { return cost.load(samples); },
          [&](const plan::Forward& forward) { return block(forward.block).forward; },
          [&](const plan::Loss&) { return cost.loss(samples); },
          [&](const plan::BackwardData& back) {
            return only_passes(plan.network, back) ? 0.0 : block(back.block).backward_data;
          },
          [&](const plan::BackwardWeights& back) { return block(back.block).backward_weights; },
          [&](const plan::AddGradient& add) {
            const auto index = static_cast<std::size_t>(add.block);
            return cost.sum(4 * plan.network.blocks[index].parameters, 1);
          },
          [&](const plan::Clip&) { return cost.sum(4 * plan.network.parameters(), 1); },
          [&](const plan::Update& update) { return block(update.block).update; },
          [](const auto&) { return 0.0; },
      },
      task.what);
  return cost.contention(busy) * alone;
}

}  // namespace plait::cost
