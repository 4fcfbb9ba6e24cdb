// Builds the chains a program needs, and sizes of values under each.
#include "run/worker_chains.hpp"

#include <algorithm>

#include "kernels/sparse/kernel_cache.hpp"

namespace plait::run {

namespace {

/// The most samples any compute task of the plan sees of a full minibatch.
std::int64_t home_samples(const plan::Plan& plan) {
  std::int64_t most = 1;
  for (const plan::Program& program : plan.programs) {
    for (const plan::Task& task : program.tasks) {
      if (plan::is<plan::Forward>(task))
        most = std::max(most, plan::samples_of(task).count(plan.batch));
    }
  }
  return most;
}

/// As bf16.
std::size_t half_bytes(const tensor::TensorDesc& desc) { return desc.bytes() / 2; }

bool needs_chain(const plan::Task& task) {
  return plan::takes_samples(task) && !plan::is<plan::Load>(task);
}

}  // namespace

WorkerChains::WorkerChains(const plan::Plan& plan, const WorkerChainsOptions& options)
    : row_lists_(plan.row_lists), minibatches_{plan.batch}, home_(home_samples(plan)) {
  if (options.tail > 0) minibatches_.push_back(options.tail);
  const auto kernels = std::make_shared<kernels::sparse::KernelCache>();
  const auto build = [&](std::int64_t samples) {
    auto& chain = chains_[samples];
    if (chain) return;
    chain = std::make_unique<Chain>(plan.network, ChainOptions{.batch = samples,
                                                               .threads = options.threads,
                                                               .backend = options.backend,
                                                               .kernels = kernels});
  };
  build(home_);
  for (const plan::Task& task : plan.programs[static_cast<std::size_t>(options.worker)].tasks) {
    for (const std::int64_t minibatch : minibatches_) {
      const std::int64_t samples = plan::samples_of(task).count(minibatch);
      if (needs_chain(task) && samples > 0) build(samples);
    }
  }
  for (const auto& [samples, chain] : chains_) {
    auto bridge = std::make_unique<LayoutBridge>(home(), *chain);
    if (!bridge->all_same()) bridges_[samples] = std::move(bridge);
  }
}

LayoutBridge* WorkerChains::bridge(std::int64_t samples) {
  const auto found = bridges_.find(samples);
  return found == bridges_.end() ? nullptr : found->second.get();
}

plan::Traits WorkerChains::traits() const {
  plan::Traits all;
  for (std::size_t i = 0; i < home().size(); ++i) {
    all.push_back(home().block(i).traits());
    for (const auto& [samples, chain] : chains_) {
      all.back() = graph::common_traits(all.back(), chain->block(i).traits());
    }
  }
  return all;
}

std::size_t WorkerChains::bytes_of(const plan::Value& value) const {
  std::size_t most = 0;
  for (const std::int64_t minibatch : minibatches_) {
    const std::int64_t samples = value.samples.count(minibatch);
    if (samples == 0) continue;
    const Chain& chain = at(samples);
    const auto index = static_cast<std::size_t>(value.index);
    switch (value.role) {
      case plan::Role::tensor:
      case plan::Role::diff: most = std::max(most, chain.tensor_desc(value.index).bytes()); break;
      case plan::Role::half_tensor:
      case plan::Role::half_diff:
        most = std::max(most, half_bytes(chain.tensor_desc(value.index)));
        break;
      case plan::Role::sent_rows:
      case plan::Role::received_rows:
        most = std::max(most, chain.rows_bytes(std::ssize(row_lists_[index])));
        break;
      case plan::Role::saved: most = std::max(most, chain.block(index).saved_bytes()); break;
      case plan::Role::pending: most = std::max(most, chain.block(index).pending_bytes()); break;
      case plan::Role::partial: {
        const int owner = chain.network().owner_of(value.index);
        const kernels::Block& block = home().block(static_cast<std::size_t>(owner));
        most = std::max(most, static_cast<std::size_t>(block.weights_size()) * sizeof(float));
        break;
      }
      default: break;
    }
  }
  return most;
}

std::size_t WorkerChains::scratch_bytes(const std::vector<int>& blocks) const {
  std::size_t most = 0;
  for (const auto& [samples, chain] : chains_) {
    for (const int block : blocks) {
      most = std::max(most, chain->scratch_bytes(static_cast<std::size_t>(block)));
    }
  }
  return most;
}

}  // namespace plait::run
