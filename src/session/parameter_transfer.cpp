// Blocking messages on the control group, block by block in the same order on both sides.
#include "session/parameter_transfer.hpp"

#include <algorithm>

#include "run/worker_model.hpp"

namespace plait::session {

namespace {

constexpr int kCollectTag = 3;
constexpr int kShareTag = 4;

/// Whether a worker with this program can evaluate: it has every block, and its running statistics
/// move (replicas that take microbatches in turn move them on the first one only).
bool has_forward_of_all(const plan::Plan& plan, const plan::Program& program) {
  std::vector<bool> has(plan.network.blocks.size(), false);
  for (const plan::Task& task : program.tasks) {
    const auto* forward = std::get_if<plan::Forward>(&task.what);
    if (forward == nullptr) continue;
    const auto block = static_cast<std::size_t>(forward->block);
    const bool current = forward->moves_state || plan.network.blocks[block].state == 0;
    has[block] = has[block] || current;
  }
  return std::ranges::all_of(has, [](bool x) { return x; });
}

}  // namespace

ParameterTransfer::ParameterTransfer(const plan::Plan& plan, transport::Group& control)
    : plan_(plan),
      control_(control),
      replicated_(std::ranges::all_of(
          plan.programs,
          [&](const plan::Program& program) { return has_forward_of_all(plan, program); })),
      owners_(plan::owners(plan)),
      state_owners_(plan::state_owners(plan)) {}

void ParameterTransfer::share(run::ParameterStore& parameters) {
  const bool zero = control_.rank() == 0;
  for (int worker = 1; worker < control_.size(); ++worker) {
    if (!zero && control_.rank() != worker) continue;
    const std::vector<run::BlockNeeds> needs = run::block_needs(plan_, worker);
    for (std::size_t i = 0; i < needs.size(); ++i) {
      run::BlockMemory& block = parameters.block(i);
      const auto pass = [&](tensor::Tensor& tensor, bool needed) {
        if (!needed || tensor.empty()) return;
        const auto bytes = std::as_writable_bytes(tensor.floats());
        (zero ? control_.isend(bytes, worker, kShareTag) : control_.irecv(bytes, 0, kShareTag))
            .wait();
      };
      pass(block.weights, needs[i].weights);
      pass(block.state, needs[i].weights);
      for (tensor::Tensor& tensor : block.optimizer) pass(tensor, needs[i].optimizer);
    }
  }
}

void ParameterTransfer::collect(run::ParameterStore& parameters) {
  const int rank = control_.rank();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto fetch = [&](int owner, tensor::Tensor& tensor) {
      if (owner <= 0 || (rank != 0 && rank != owner) || tensor.empty()) return;
      const auto bytes = std::as_writable_bytes(tensor.floats());
      (rank == 0 ? control_.irecv(bytes, owner, kCollectTag)
                 : control_.isend(bytes, 0, kCollectTag))
          .wait();
    };
    run::BlockMemory& block = parameters.block(i);
    fetch(owners_[i], block.weights);
    fetch(state_owners_[i], block.state);
    for (tensor::Tensor& tensor : block.optimizer) fetch(owners_[i], tensor);
  }
}

}  // namespace plait::session
