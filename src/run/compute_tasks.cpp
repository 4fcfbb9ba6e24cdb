// Arguments of blocks from slots, and the call of each task.
#include "run/compute_tasks.hpp"

#include <algorithm>
#include <cmath>

#include "base/rounding.hpp"

namespace plait::run {

ComputeTasks::ComputeTasks(const WorkerParts& parts, const BatchRing& batches)
    : parts_(parts), batches_(batches), residuals_(parts.context.plan.network.blocks.size()) {
  for (const plan::Task& task : parts.context.program().tasks) bound_.push_back(bind(task));
}

ComputeTasks::Binding ComputeTasks::bind(const plan::Task& task) const {
  Binding bound;
  if (message_of(task) != nullptr) return bound;
  const int logits = parts_.context.plan.network.logits();
  if (plan::block_of(task) >= 0) bind_block(task, bound);
  if (plan::is<plan::Loss>(task)) {
    bound.dst = parts_.slot({plan::Role::tensor, logits, plan::samples_of(task)});
    bound.diff_dst = parts_.slot({plan::Role::diff, logits, plan::samples_of(task)});
  }
  if (plan::is<plan::Load>(task))
    bound.dst = parts_.slot({plan::Role::tensor, 0, plan::samples_of(task)});
  return bound;
}

void ComputeTasks::bind_block(const plan::Task& task, Binding& bound) const {
  const int index = plan::block_of(task);
  const plan::NetworkBlock& block = parts_.context.block(index);
  const auto slot = [&](plan::Role role, int of) {
    return parts_.slot({role, of, plan::samples_of(task)});
  };
  const auto* data = std::get_if<plan::BackwardData>(&task.what);
  const auto makes = [&](int tensor) {
    return parts_.context.plan.network.has_gradient(tensor) &&
           (data == nullptr || data->makes(tensor));
  };
  for (const int tensor : block.srcs) {
    bound.srcs.push_back(slot(plan::Role::tensor, tensor));
    bound.diff_srcs.push_back(makes(tensor) ? slot(plan::Role::diff, tensor) : -1);
  }
  bound.dst = slot(plan::Role::tensor, block.dst);
  bound.diff_dst = slot(plan::Role::diff, block.dst);
  bound.saved = slot(plan::Role::saved, index);
  bound.pending = slot(plan::Role::pending, index);
  const auto* weights = std::get_if<plan::BackwardWeights>(&task.what);
  if (weights != nullptr && weights->adds) {
    bound.partial = slot(plan::Role::partial, parts_.context.plan.network.home_of(index));
  }
}

std::size_t ComputeTasks::home_of(const TaskRun& at) const {
  const int block = plan::block_of(parts_.context.task(at));
  return static_cast<std::size_t>(parts_.context.plan.network.home_of(block));
}

void ComputeTasks::load(const TaskRun& at) {
  if (batches_.read_in_place() || at.samples == 0) return;
  const plan::Samples samples = plan::samples_of(parts_.context.task(at));
  std::byte* dst = parts_.memory.at(bound_[at.task].dst, at.minibatch);
  std::ranges::copy(batches_.images(at.minibatch, samples, at.whole), dst);
}

kernels::BlockArgs ComputeTasks::block_args(const TaskRun& at, BlockMemory& parameters) const {
  const Binding& bound = bound_[at.task];
  const plan::Task& task = parts_.context.task(at);
  const auto index = static_cast<std::size_t>(plan::block_of(task));
  const std::vector<int>& tensors = parts_.context.plan.network.blocks[index].srcs;
  const kernels::Block& block = parts_.model.chains.at(at.samples).block(index);
  const auto view = [&](int slot, const tensor::TensorDesc& desc) {
    return tensor::View(parts_.memory.at(slot, at.minibatch), desc);
  };
  std::vector<tensor::ConstView> srcs(tensors.size());
  std::vector<tensor::View> diff_srcs(tensors.size());
  for (std::size_t k = 0; k < tensors.size(); ++k) {
    const tensor::TensorDesc& desc = block.src_descs()[k];
    srcs[k] = view(bound.srcs[k], desc);
    if (tensors[k] == 0 && batches_.read_in_place()) srcs[k] = batches_.at(at.minibatch).images;
    diff_srcs[k] = view(bound.diff_srcs[k], desc);
  }
  return {.srcs = std::move(srcs),
          .dst = view(bound.dst, block.dst_desc()),
          .diff_dst = view(bound.diff_dst, block.dst_desc()),
          .diff_srcs = std::move(diff_srcs),
          .weights = parameters.weights.floats().data(),
          .diff_weights = parameters.gradient.floats().data(),
          .state = parameters.state.floats().data(),
          .saved = parts_.memory.at(bound.saved, at.minibatch),
          .pending = parts_.memory.at(bound.pending, at.minibatch),
          .scratch = parts_.memory.scratch().data(),
          .training = true,
          .randomness = {.seed = parts_.context.options.seed,
                         .step = static_cast<std::uint64_t>(at.minibatch),
                         .first_sample = plan::samples_of(task).first(at.whole)}};
}

kernels::BlockArgs ComputeTasks::args_with_weights(const TaskRun& at) {
  const plan::Task& task = parts_.context.task(at);
  const std::size_t index = home_of(at);
  WorkerModel& model = parts_.model;
  const plan::Network& network = parts_.context.plan.network;
  const bool trained = network.blocks[index].parameters > 0;
  const int delay = plan::delay_of(task).value_or(0);
  const auto owner = static_cast<std::size_t>(network.owner_of(plan::block_of(task)));
  const float* weights = trained ? model.history.read(owner, at.minibatch, delay) : nullptr;
  LayoutBridge* bridge = model.chains.bridge(at.samples);
  float* state = model.parameters.state(static_cast<std::size_t>(plan::block_of(task)));
  if (bridge != nullptr && !bridge->same(index)) {
    bridge->fetch(index, weights, state);
    return block_args(at, bridge->memory(index));
  }
  kernels::BlockArgs args = block_args(at, model.parameters.block(index));
  args.weights = weights;
  args.state = state;
  return args;
}

void ComputeTasks::forward(const TaskRun& at) {
  const auto& task = parts_.context.what<plan::Forward>(at);
  const std::size_t index = home_of(at);
  parts_.memory.free_for_writing(bound_[at.task].dst, at.minibatch);
  parts_.memory.free_for_writing(bound_[at.task].saved, at.minibatch);
  kernels::BlockArgs args = args_with_weights(at);
  if (!task.moves_state) args.state = nullptr;  // running statistics move once per minibatch
  WorkerModel& model = parts_.model;
  model.chains.at(at.samples).block(index).forward(args);
  LayoutBridge* bridge = model.chains.bridge(at.samples);
  if (bridge != nullptr && !bridge->same(index) && task.moves_state) {
    bridge->return_state(index, model.parameters.state(static_cast<std::size_t>(task.block)));
  }
  if (parts_.context.block(task.block).is_difference()) measure_residual(at, task.block);
}

void ComputeTasks::measure_residual(const TaskRun& at, int block) {
  const Chain& chain = parts_.model.chains.at(at.samples);
  const tensor::TensorDesc& desc = chain.tensor_desc(parts_.context.block(block).dst);
  add_residual({.difference = floats(bound_[at.task].dst, at),
                .other = floats(bound_[at.task].srcs[1], at),
                .count = static_cast<std::size_t>(desc.physical_elements()),
                .threads = parts_.context.options.threads},
               residuals_[static_cast<std::size_t>(block)]);
}

optim::LossResult ComputeTasks::loss(const TaskRun& at) {
  const Chain& chain = parts_.model.chains.at(at.samples);
  const tensor::TensorDesc& desc = chain.dst_desc();
  const Binding& bound = bound_[at.task];
  const auto count = static_cast<std::size_t>(desc.physical_elements());
  parts_.memory.free_for_writing(bound.diff_dst, at.minibatch);
  double weight = parts_.context.weight_of(at).whole;
  if (chain.pixels() > 0 && !parts_.context.links.minibatch(at.minibatch).weight) {
    weight *= static_cast<double>(chain.pixels());  // every pixel weighs 1
  }
  const std::span<float> diff(floats(bound.diff_dst, at), count);
  optim::LossResult result =
      compute_loss(parts_.context.options.loss,
                   {.logits = {floats(bound.dst, at), count},
                    .targets = batches_.targets(
                        at.minibatch, plan::samples_of(parts_.context.task(at)), at.whole),
                    .classes = desc.shape[1],
                    .scale = weight > 0 ? 1.0 / weight : 1.0,
                    .pixels = chain.pixels()},
                   diff);
  if (weight == 0) {  // no label of the minibatch has a weight: its gradient is 0
    std::ranges::fill(diff, 0.0F);
    result.sum = 0;
  }
  return result;
}

void ComputeTasks::backward_data(const TaskRun& at) {
  const int index = parts_.context.what<plan::BackwardData>(at).block;
  for (const int slot : bound_[at.task].diff_srcs) {
    if (slot >= 0) parts_.memory.free_for_writing(slot, at.minibatch);
  }
  parts_.memory.free_for_writing(bound_[at.task].pending, at.minibatch);
  kernels::BlockArgs args = args_with_weights(at);
  const std::vector<Added> added = redirect_added(at, args);
  parts_.model.chains.at(at.samples).block(static_cast<std::size_t>(index)).backward_data(args);
  for (const auto& [sum, subtracted] : added) {
    (subtracted ? kernels::simd::subtract : kernels::simd::add)(sum,
                                                                parts_.context.options.threads);
  }
}

std::vector<ComputeTasks::Added> ComputeTasks::redirect_added(const TaskRun& at,
                                                              kernels::BlockArgs& args) const {
  std::vector<Added> added;
  const plan::Network& network = parts_.context.plan.network;
  if (network.last_readers.empty()) return added;
  const int index = plan::block_of(parts_.context.task(at));
  const Chain& chain = parts_.model.chains.at(at.samples);
  const kernels::Block& block = chain.block(static_cast<std::size_t>(index));
  std::size_t used = block.scratch_bytes();
  const std::vector<int>& tensors = network.blocks[static_cast<std::size_t>(index)].srcs;
  for (std::size_t k = 0; k < tensors.size(); ++k) {
    if (args.diff_srcs[k].empty() || !network.adds_gradient(index, tensors[k])) continue;
    const tensor::TensorDesc& desc = chain.tensor_desc(tensors[k]);
    const auto count = static_cast<std::size_t>(desc.physical_elements());
    const tensor::View sum = args.diff_srcs[k];
    if (block.traits().adds_gradient) {
      args.diff_addend = sum;
      continue;
    }
    const int number = static_cast<int>(k);
    const bool subtracted = number == block.traits().subtracted_src;
    if (subtracted || block.traits().passes(number)) {
      added.push_back({{sum.floats(), sum.floats(), args.diff_dst.floats(), count}, subtracted});
      args.diff_srcs[k] = {};
      continue;
    }
    used = cache_lines(used);
    const tensor::View gradient(args.scratch + used, desc);
    used += desc.bytes();
    added.push_back({{sum.floats(), sum.floats(), gradient.floats(), count}});
    args.diff_srcs[k] = gradient;
  }
  return added;
}

void ComputeTasks::backward_weights(const TaskRun& at) {
  const std::size_t index = home_of(at);
  const bool adds = parts_.context.what<plan::BackwardWeights>(at).adds;
  BlockMemory& memory = parts_.model.parameters.block(index);
  const std::span<float> gradient = memory.gradient.floats();
  if (at.samples == 0) {
    if (!adds) std::ranges::fill(gradient, 0.0F);
    return;
  }
  LayoutBridge* bridge = parts_.model.chains.bridge(at.samples);
  const bool bridged = bridge != nullptr && !bridge->same(index);
  kernels::BlockArgs args = block_args(at, bridged ? bridge->memory(index) : memory);
  float* partial = adds ? floats(bound_[at.task].partial, at) : nullptr;
  if (!bridged && adds) args.diff_weights = partial;
  parts_.model.chains.at(at.samples).block(index).backward_weights(args);
  if (bridged)
    bridge->return_gradient(index, adds ? std::span(partial, gradient.size()) : gradient);
  if (adds) {
    for (std::size_t i = 0; i < gradient.size(); ++i) gradient[i] += partial[i];
  }
}

std::string ComputeTasks::first_non_finite_block(const TaskRun& at) {
  const std::vector<plan::Task>& tasks = parts_.context.program().tasks;
  for (std::size_t i = 0; i < at.task; ++i) {
    const auto* task = std::get_if<plan::Forward>(&tasks[i].what);
    if (task == nullptr || task->samples != plan::samples_of(parts_.context.task(at))) continue;
    const TaskRun again{i, at.minibatch, at.step, at.whole, at.samples};
    const auto index = static_cast<std::size_t>(task->block);
    kernels::BlockArgs args = args_with_weights(again);
    args.state = nullptr;
    kernels::Block& block = parts_.model.chains.at(at.samples).block(index);
    block.forward(args);
    const std::span<const float> dst(
        args.dst.floats(), static_cast<std::size_t>(block.dst_desc().physical_elements()));
    if (!std::ranges::all_of(dst, [](float x) { return std::isfinite(x); })) return block.name();
  }
  return "";
}

}  // namespace plait::run
