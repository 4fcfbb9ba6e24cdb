// What all workers together must do: update every block, make every gradient of a tensor, see every
// sample.
#include <fmt/format.h>

#include <algorithm>

#include "plan/check_parts.hpp"

namespace plait::plan {

namespace {

/// A block whose gradient is asked for anywhere is updated somewhere, or the gradient added to that
/// of the block whose weights it uses.
void check_nobody_forgotten(const Plan& plan, FaultList& faults) {
  std::vector<bool> wanted(plan.network.blocks.size(), false);
  std::vector<bool> made(wanted.size(), false);
  std::vector<bool> added(wanted.size(), false);
  std::vector<bool> updated(wanted.size(), false);
  for (int worker = 0; worker < plan.workers(); ++worker) {
    if (faults.like(worker) != worker) continue;
    for (const Task& task : plan.programs[static_cast<std::size_t>(worker)].tasks) {
      if (const auto* backward = std::get_if<BackwardData>(&task.what)) {
        wanted[static_cast<std::size_t>(plan.network.owner_of(backward->block))] = true;
      } else if (const auto* weights = std::get_if<BackwardWeights>(&task.what)) {
        made[static_cast<std::size_t>(plan.network.home_of(weights->block))] = true;
      } else if (const auto* add = std::get_if<AddGradient>(&task.what)) {
        added[static_cast<std::size_t>(add->block)] = true;
      } else if (const auto* update = std::get_if<Update>(&task.what)) {
        updated[static_cast<std::size_t>(update->block)] = true;
      }
    }
  }
  for (std::size_t block = 0; block < wanted.size(); ++block) {
    const NetworkBlock& of = plan.network.blocks[block];
    if (wanted[block] && of.parameters > 0 && !updated[block]) {
      faults.add(fmt::format("no worker updates block {}", of.name));
    }
    if (made[block] && of.parameters > 0 && plan.network.is_tied(static_cast<int>(block)) &&
        !added[block]) {
      faults.add(fmt::format("no worker adds the gradient of block {} to that of {}", of.name,
                             plan.network.blocks[static_cast<std::size_t>(of.weights_of)].name));
    }
  }
}

/// Samples of forwards, and of backward_data by what they make, over all workers.
class GradientCheck {
 public:
  GradientCheck(const Plan& plan, int mode, FaultList& faults)
      : plan_(plan),
        faults_(faults),
        forward_(plan.network.blocks.size(), 0),
        arrives_(plan.network.tensors.size(), false) {
    for (const NetworkBlock& block : plan.network.blocks) returned_.emplace_back(block.srcs.size());
    std::vector<std::int64_t> alike(plan.programs.size(), 0);
    for (int worker = 0; worker < plan.workers(); ++worker) {
      ++alike[static_cast<std::size_t>(faults.like(worker))];
    }
    for (std::size_t worker = 0; worker < alike.size(); ++worker) {
      if (alike[worker] == 0) continue;
      for (const Task& task : plan.programs[worker].tasks) {
        if (runs_in(task.when, mode)) note(task, alike[worker]);
      }
    }
  }

  /// Whoever reads a tensor adds to its gradient, as soon as that of its own result is there.
  void run() {
    for (std::size_t b = 0; b < forward_.size(); ++b) {
      const NetworkBlock& block = plan_.network.blocks[b];
      if (!arrives_[static_cast<std::size_t>(block.dst)]) continue;
      for (std::size_t k = 0; k < block.srcs.size(); ++k) {
        if (!plan_.network.has_gradient(block.srcs[k]) || returned_[b][k] >= forward_[b]) continue;
        faults_.add(
            fmt::format("no worker makes what block {} adds to the gradient of tensor {} "
                        "for {} of {} samples",
                        block.name, block.srcs[k], forward_[b] - returned_[b][k], forward_[b]));
      }
    }
  }

 private:
  void note(const Task& task, std::int64_t times) {
    if (const auto* forward = std::get_if<Forward>(&task.what)) {
      forward_[static_cast<std::size_t>(forward->block)] +=
          times * forward->samples.count(plan_.batch);
    } else if (is<Loss>(task)) {
      arrives_[static_cast<std::size_t>(plan_.network.logits())] = true;
    } else if (const auto* backward = std::get_if<BackwardData>(&task.what)) {
      const auto b = static_cast<std::size_t>(backward->block);
      const std::vector<int>& srcs = plan_.network.blocks[b].srcs;
      for (std::size_t k = 0; k < srcs.size(); ++k) {
        if (!backward->makes(srcs[k])) continue;
        arrives_[static_cast<std::size_t>(srcs[k])] = true;
        returned_[b][k] += times * backward->samples.count(plan_.batch);
      }
    }
  }

  const Plan& plan_;
  FaultList& faults_;
  std::vector<std::int64_t> forward_;                ///< by block
  std::vector<std::vector<std::int64_t>> returned_;  ///< by block and what it reads
  std::vector<bool> arrives_;                        ///< by tensor: it has a gradient in this plan
};

/// The losses of all workers together are taken of the whole minibatch.
void check_nobody_unseen(const Plan& plan, int mode, FaultList& faults) {
  std::vector<Samples> parts;
  std::vector<std::vector<std::size_t>> positions(plan.programs.size());  // of unlike workers
  for (int worker = 0; worker < plan.workers(); ++worker) {
    const std::vector<Task>& tasks = plan.programs[static_cast<std::size_t>(worker)].tasks;
    std::vector<std::size_t>& losses = positions[static_cast<std::size_t>(faults.like(worker))];
    for (std::size_t i = 0; faults.like(worker) == worker && i < tasks.size(); ++i) {
      if (is<Loss>(tasks[i]) && runs_in(tasks[i].when, mode)) losses.push_back(i);
    }
    for (const std::size_t i : losses) parts.push_back(samples_of(tasks[i]));
  }
  if (parts.empty()) return;
  std::ranges::sort(parts, {}, [&](const Samples& part) { return part.first(plan.batch); });
  std::int64_t seen = 0;
  for (const Samples& part : parts) {
    if (part.first(plan.batch) > seen) break;
    seen = std::max(seen, part.last(plan.batch));
  }
  if (seen < plan.batch) {
    faults.add(fmt::format("no worker takes the loss of sample {} of {}", seen, plan.batch));
  }
}

}  // namespace

void check_complete(const Plan& plan, int mode, FaultList& faults) {
  check_nobody_forgotten(plan, faults);
  GradientCheck(plan, mode, faults).run();
  check_nobody_unseen(plan, mode, faults);
}

}  // namespace plait::plan
