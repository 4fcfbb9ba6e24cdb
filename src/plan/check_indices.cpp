// Every number of a plan is in its range; after this nothing else needs to look.
#include <fmt/format.h>

#include <algorithm>

#include "plan/check_parts.hpp"

namespace plait::plan {

namespace {

constexpr int kMaxSteps = 1 << 20;  ///< of an offset and of `every`

bool strictly_ascending(const std::vector<int>& list) {
  return std::ranges::adjacent_find(list, std::ranges::greater_equal{}) == list.end();
}

void check_head(const Plan& plan, FaultList& faults) {
  check_network(plan.network, faults);
  if (plan.batch < 1) faults.add(fmt::format("the batch is {} samples", plan.batch));
  if (plan.microbatches < 1)
    faults.add(fmt::format("there are {} microbatches", plan.microbatches));
  if (plan.wire_bytes != 4 && plan.wire_bytes != 2) {
    faults.add(fmt::format("a reduced number has {} bytes; 4 or 2 are known", plan.wire_bytes));
  }
  if (plan.programs.empty() || plan.workers() > plan.machine.workers()) {
    faults.add(fmt::format("there are {} programs for {} workers", plan.workers(),
                           plan.machine.workers()));
  }
  for (std::size_t g = 0; g < plan.groups.size(); ++g) {
    const std::vector<int>& group = plan.groups[g];
    if (group.empty() || !strictly_ascending(group) || group.front() < 0 ||
        group.back() >= plan.workers()) {
      faults.add(fmt::format("group {} must name workers below {} in ascending order, but is [{}]",
                             g, plan.workers(), fmt::join(group, " ")));
    }
  }
  for (std::size_t b = 0; b < plan.buckets.size(); ++b) {
    std::vector<int> blocks = plan.buckets[b].blocks;
    std::ranges::sort(blocks);
    if (!strictly_ascending(blocks) || !std::ranges::all_of(blocks, [&](int i) {
          return in_range(i, plan.network.blocks.size());
        })) {
      faults.add(fmt::format("bucket {} names a block twice, or one that is not among the {}", b,
                             plan.network.size()));
    }
  }
}

/// The owner's tensor has the rows of the list; the other side's is as long as the list.
std::string wrong_list(const Plan& plan, const Message& message, bool packs) {
  const auto& [role, tensor, samples] = message.value;
  if (!in_range(message.list, plan.row_lists.size()) || !is_of_tensor(role)) {
    return fmt::format("there is no row list {} of a tensor, only {}", message.list,
                       plan.row_lists.size());
  }
  const std::vector<std::int32_t>& rows = plan.row_lists[static_cast<std::size_t>(message.list)];
  const std::int64_t elements = plan.network.tensors[static_cast<std::size_t>(tensor)];
  const bool ascending =
      std::ranges::adjacent_find(rows, std::ranges::greater_equal{}) == rows.end();
  if (rows.empty() || !ascending || rows.front() < 0) {
    return fmt::format("row list {} does not ascend from 0", message.list);
  }
  if (packs && rows.back() >= elements) {
    return fmt::format("row list {} has row {}, but tensor {} only {}", message.list, rows.back(),
                       tensor, elements);
  }
  if (!packs && std::ssize(rows) != elements) {
    return fmt::format("row list {} has {} rows, but tensor {} has {}", message.list, rows.size(),
                       tensor, elements);
  }
  return "";
}

/// Says what is wrong with the numbers of a task; nothing where it is as it should be.
class NumberCheck {
 public:
  NumberCheck(const Plan& plan, int worker) : plan_(plan), worker_(worker) {}

  std::string operator()(const Load&) const { return ""; }
  std::string operator()(const Loss&) const { return ""; }
  std::string operator()(const Clip&) const { return ""; }
  std::string operator()(const Forward& forward) const { return wrong_block(forward.block); }

  std::string operator()(const BackwardData& backward) const {
    if (std::string what = wrong_block(backward.block); !what.empty()) return what;
    if (backward.tensor < 0) return "";
    const NetworkBlock& block = block_at(backward.block);
    if (block.traits.passed_srcs != 0) {
      return "only of a sum the gradients are made one by one";
    }
    if (!block.reads(backward.tensor)) {
      return fmt::format("tensor {} is none of those that {} adds up", backward.tensor, block.name);
    }
    return "";
  }

  std::string operator()(const BackwardWeights& backward) const {
    return wrong_block(backward.block);
  }

  std::string operator()(const AddGradient& add) const {
    if (std::string what = wrong_block(add.block); !what.empty()) return what;
    return plan_.network.is_tied(add.block) ? "" : "the block has weights of its own";
  }

  std::string operator()(const Update& update) const {
    if (std::string what = wrong_block(update.block); !what.empty()) return what;
    const NetworkBlock& block = block_at(update.block);
    if (!block.owns_weights()) {
      return fmt::format("the weights are those of block {}; only that one is updated",
                         block.weights_of);
    }
    return "";
  }

  std::string operator()(const Send& send) const {
    return wrong_message(send.message, packed_value(send).has_value());
  }
  std::string operator()(const Receive& receive) const {
    return wrong_message(receive.message, packed_value(receive).has_value());
  }

  std::string operator()(const Reduce& reduce) const {
    if (!in_range(reduce.bucket, plan_.buckets.size())) {
      return fmt::format("there is no bucket {}, only {}", reduce.bucket, plan_.buckets.size());
    }
    if (!in_range(reduce.group, plan_.groups.size())) {
      return fmt::format("there is no group {}, only {}", reduce.group, plan_.groups.size());
    }
    const std::vector<int>& group = plan_.groups[static_cast<std::size_t>(reduce.group)];
    if (!std::ranges::binary_search(group, worker_)) {
      return fmt::format("the worker is no member of group {}", reduce.group);
    }
    return "";
  }

 private:
  const NetworkBlock& block_at(int block) const {
    return plan_.network.blocks[static_cast<std::size_t>(block)];
  }
  std::string wrong_block(int block) const {
    if (in_range(block, plan_.network.blocks.size())) return "";
    return fmt::format("there is no block {}, only {}", block, plan_.network.size());
  }

  std::string wrong_message(const Message& message, bool packs) const {
    const auto& [role, index, samples] = message.value;
    if (!is_of_tensor(role) && role != Role::saved && role != Role::pending &&
        role != Role::weights && role != Role::gradient) {
      return fmt::format("{} never travels from worker to worker", name_of(role));
    }
    if (is_of_tensor(role) && !in_range(index, plan_.network.tensors.size())) {
      return fmt::format("there is no tensor {}, only {}", index, plan_.network.tensors.size());
    }
    if (!is_of_tensor(role)) {
      if (std::string what = wrong_block(index); !what.empty()) return what;
    }
    if (role == Role::weights && !block_at(index).owns_weights()) {
      return fmt::format("the weights are those of block {}", block_at(index).weights_of);
    }
    if (role == Role::gradient && !plan_.network.is_tied(index)) {
      return "only gradients of blocks that use another one's weights travel";
    }
    if (message.half && (message.list >= 0 || !is_of_tensor(role))) {
      return "only whole tensors and their gradients travel as bf16";
    }
    const bool integers =
        role == Role::tensor && index == 0 && plan_.network.input_type != tensor::DType::f32;
    if (message.half && integers) return "token ids do not travel as bf16";
    if (message.list >= 0) {
      if (std::string what = wrong_list(plan_, message, packs); !what.empty()) return what;
    }
    if (!in_range(message.peer, plan_.programs.size()) || message.peer == worker_) {
      return fmt::format("the peer must be another one of the {} workers", plan_.workers());
    }
    return "";
  }

  const Plan& plan_;
  int worker_;
};

std::string wrong_part(const Plan& plan, const Task& task) {
  const Samples part = samples_of(task);
  if (part.begin < 0 || part.begin >= part.end || part.end > part.of) {
    return fmt::format("{}/{} to {}/{} is no part of a minibatch", part.begin, part.of, part.end,
                       part.of);
  }
  if (takes_samples(task) && part.count(plan.batch) < 1) {
    return fmt::format("it gets no sample of a batch of {}", plan.batch);
  }
  return "";
}

std::string wrong_time(const Plan& plan, const Task& task) {
  const When& when = task.when;
  if (when.offset < 0 || when.offset > kMaxSteps) {
    return fmt::format("the offset is {}", when.offset);
  }
  const int delay = delay_of(task).value_or(0);
  if (delay < 0 || delay > kMaxSteps) return fmt::format("the delay is {}", delay);
  if (when.mode < -1 || when.mode >= static_cast<int>(plan.modes.size())) {
    return fmt::format("there is no mode {}, only {}", when.mode, plan.modes.size());
  }
  if (when.every < 1 || when.every > kMaxSteps || when.phase < 0 || when.phase >= when.every) {
    return fmt::format("phase {} of every {} steps never comes", when.phase, when.every);
  }
  return "";
}

/// Empty where the task is as it should be.
std::string wrong_number(const Plan& plan, int worker, const Task& task) {
  std::string what = std::visit(NumberCheck(plan, worker), task.what);
  if (what.empty()) what = wrong_part(plan, task);
  return what.empty() ? wrong_time(plan, task) : what;
}

}  // namespace

void check_indices(const Plan& plan, FaultList& faults) {
  check_head(plan, faults);
  if (!faults.empty()) return;
  for (int worker = 0; worker < plan.workers(); ++worker) {
    const std::vector<Task>& tasks = plan.programs[static_cast<std::size_t>(worker)].tasks;
    for (int i = 0; i < static_cast<int>(tasks.size()); ++i) {
      const std::string what = wrong_number(plan, worker, tasks[static_cast<std::size_t>(i)]);
      if (!what.empty()) faults.add(worker, i, what);
    }
  }
}

}  // namespace plait::plan
