// Builds the blocks and the parameters that the tasks of one worker use.
#include "run/worker_model.hpp"

namespace plait::run {

std::vector<BlockNeeds> block_needs(const plan::Plan& plan, int worker) {
  const bool collects = worker == 0;
  std::vector<BlockNeeds> needs(plan.network.blocks.size(), {collects, false, collects});
  for (const plan::Task& task : plan.programs[static_cast<std::size_t>(worker)].tasks) {
    if (plan::block_of(task) < 0) continue;
    const auto of = [&](int block) -> BlockNeeds& {
      return needs[static_cast<std::size_t>(block)];
    };
    BlockNeeds& need = of(plan.network.home_of(plan::block_of(task)));
    BlockNeeds& owner = of(plan.network.owner_of(plan::block_of(task)));
    need.weights = owner.weights = true;
    const bool updates = plan::is<plan::Update>(task);
    need.optimizer = need.optimizer || updates;
    need.gradient = need.gradient || updates || plan::makes_gradient(task);
    owner.gradient = owner.gradient || plan::is<plan::AddGradient>(task);
  }
  return needs;
}

WorkerModel::WorkerModel(const plan::Plan& plan, const WorkerOptions& options)
    : optimizer(make_optimizer(options.optimizer)),
      chains(plan, {.worker = options.rank,
                    .threads = options.threads,
                    .backend = options.backend,
                    .tail = options.tail}),
      parameters(chains.home(), options.seed,
                 optimizer->state_count() + (plan::has_outer_optimizer(plan) ? 1 : 0),
                 block_needs(plan, options.rank)),
      history(plan, options.rank, parameters) {}

}  // namespace plait::run
