// The tasks of a worker that compute.
#include <algorithm>
#include <cmath>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "optim/clip.hpp"
#include "run/worker.hpp"

namespace plait {

void Worker::load(const Moment& at) {
  Batch& batch = batches_[static_cast<std::size_t>(at.minibatch) % batches_.size()];
  if (newest_batch_ < at.minibatch) {
    waiting(at, [&] { links_.next_batch(batch); });
    newest_batch_ = at.minibatch;
    if (batch.size() != share_.count(at.whole)) {
      fail("{} samples came where the plan has {}", batch.size(), share_.count(at.whole));
    }
  }
  if (loads_directly_ || at.samples == 0) return;
  const auto sample = static_cast<std::size_t>(plan_.network.tensors.front());
  const auto first =
      static_cast<std::size_t>(samples_of(task_of(at)).first(at.whole) - share_.first(at.whole));
  const auto images =
      batch.images.floats().subspan(first * sample, static_cast<std::size_t>(at.samples) * sample);
  std::ranges::copy(images, floats(bound_[at.task].dst, at.minibatch));
}

const float* Worker::input(const Moment& at) const {
  if (!loads_directly_) return nullptr;
  return batches_[static_cast<std::size_t>(at.minibatch) % batches_.size()].images.floats().data();
}

BlockArgs Worker::block_args(const Moment& at, BlockMemory& parameters) const {
  const Bound& bound = bound_[at.task];
  const Task& task = task_of(at);
  const NetworkBlock& block = plan_.network.blocks[static_cast<std::size_t>(block_of(task))];
  const float* loaded = block.src == 0 ? input(at) : nullptr;
  return {.src = loaded != nullptr ? loaded : floats(bound.src, at.minibatch),
          .dst = floats(bound.dst, at.minibatch),
          .diff_dst = floats(bound.diff_dst, at.minibatch),
          .diff_src = block.src == 0 ? nullptr : floats(bound.diff_src, at.minibatch),
          .weights = parameters.weights.floats().data(),
          .diff_weights = parameters.gradient.floats().data(),
          .state = parameters.state.floats().data(),
          .saved = memory(bound.saved, at.minibatch),
          .pending = memory(bound.pending, at.minibatch),
          .scratch = scratch_,
          .training = true,
          .randomness = {.seed = options_.seed,
                         .step = static_cast<std::uint64_t>(at.minibatch),
                         .first_sample = samples_of(task).first(at.whole)}};
}

BlockArgs Worker::args_with_weights(const Moment& at) {
  const Task& task = task_of(at);
  const std::size_t index = home_of(at);
  BlockMemory& home = parameters_.block(index);
  const bool trained = plan_.network.blocks[index].parameters > 0;
  const int delay = delay_of(task).value_or(0);
  const float* weights = trained ? history_.read(index, at.minibatch, delay) : nullptr;
  LayoutBridge* bridge = chains_.bridge(at.samples);
  float* state = parameters_.state(static_cast<std::size_t>(block_of(task)));
  if (bridge != nullptr && !bridge->same(index)) {
    bridge->fetch(index, weights, state);
    return block_args(at, bridge->memory(index));
  }
  BlockArgs args = block_args(at, home);
  args.weights = weights;
  args.state = state;
  return args;
}

void Worker::forward(const Moment& at) {
  if (at.samples == 0) return;
  const auto& task = what_of<Forward>(at);
  const NetworkBlock& block = plan_.network.blocks[static_cast<std::size_t>(task.block)];
  if (block.joins()) return join_forward(at, block);
  const double begin = now_seconds();
  const std::size_t index = home_of(at);
  free_for_writing(at, bound_[at.task].dst);
  free_for_writing(at, bound_[at.task].saved);
  BlockArgs args = args_with_weights(at);
  if (!task.moves_state) args.state = nullptr;  // running statistics move once per minibatch
  chains_.at(at.samples).block(index).forward(args);
  LayoutBridge* bridge = chains_.bridge(at.samples);
  if (bridge != nullptr && !bridge->same(index) && task.moves_state) {
    bridge->return_state(index, parameters_.state(static_cast<std::size_t>(task.block)));
  }
  compute_event(at, begin);
}

void Worker::compute_loss_of(const Moment& at) {
  auto open = std::ranges::find(losses_, at.minibatch,
                                [](const OpenLoss& one) { return one.loss.minibatch; });
  if (open == losses_.end()) open = losses_.insert(open, {{at.minibatch, {}}, 0});
  ++open->tasks;
  if (at.samples == 0) return;
  const double begin = now_seconds();
  const Chain& chain = chains_.at(at.samples);
  const Bound& bound = bound_[at.task];
  const Batch& batch = batches_[static_cast<std::size_t>(at.minibatch) % batches_.size()];
  const std::size_t target = batch.targets.floats().size() / static_cast<std::size_t>(batch.size());
  const auto first =
      static_cast<std::size_t>(samples_of(task_of(at)).first(at.whole) - share_.first(at.whole));
  const auto count = static_cast<std::size_t>(chain.dst_desc().physical_elements());
  free_for_writing(at, bound.diff_dst);
  const double weight = weight_of(at).whole;
  const std::span<float> diff(floats(bound.diff_dst, at.minibatch), count);
  LossResult result =
      compute_loss(options_.loss,
                   {.logits = {floats(bound.dst, at.minibatch), count},
                    .targets = batch.targets.floats().subspan(
                        first * target, static_cast<std::size_t>(at.samples) * target),
                    .classes = chain.dst_desc().shape[1],
                    .scale = weight > 0 ? 1.0 / weight : 1.0},
                   diff);
  if (weight == 0) {  // no class of the minibatch has a weight: it teaches nothing
    std::ranges::fill(diff, 0.0F);
    result.sum = 0;
  }
  open->loss.loss.sum += result.sum;
  open->loss.loss.correct += result.correct;
  compute_event(at, begin);
  if (!std::isfinite(result.sum)) {
    throw NonFiniteLoss(at.minibatch, result.sum, first_non_finite_block(at));
  }
}

void Worker::backward_data(const Moment& at) {
  if (at.samples == 0) return;
  const double begin = now_seconds();
  const auto index = static_cast<std::size_t>(what_of<BackwardData>(at).block);
  const NetworkBlock& block = plan_.network.blocks[index];
  if (block.joins()) return join_backward(at, block);
  free_for_writing(at, bound_[at.task].diff_src);
  free_for_writing(at, bound_[at.task].pending);
  chains_.at(at.samples).block(index).backward_data(args_with_weights(at));
  compute_event(at, begin);
}

void Worker::backward_weights(const Moment& at) {
  const std::size_t index = home_of(at);
  const bool adds = what_of<BackwardWeights>(at).adds;
  const std::span<float> gradient = parameters_.block(index).gradient.floats();
  if (at.samples == 0) {
    if (!adds) std::ranges::fill(gradient, 0.0F);
    return;
  }
  const double begin = now_seconds();
  LayoutBridge* bridge = chains_.bridge(at.samples);
  const bool bridged = bridge != nullptr && !bridge->same(index);
  BlockArgs args = block_args(at, bridged ? bridge->memory(index) : parameters_.block(index));
  float* partial = adds ? floats(bound_[at.task].partial, at.minibatch) : nullptr;
  if (!bridged && adds) args.diff_weights = partial;
  chains_.at(at.samples).block(index).backward_weights(args);
  if (bridged) {
    bridge->return_gradient(index, adds ? std::span(partial, gradient.size()) : gradient);
  }
  if (adds) {
    for (std::size_t i = 0; i < gradient.size(); ++i) gradient[i] += partial[i];
  }
  compute_event(at, begin);
}

MinibatchWeights::Sums Worker::weight_of(const Moment& at) const {
  const Minibatch minibatch = links_.minibatch(at.minibatch);
  if (minibatch.weight) return *minibatch.weight;
  return {static_cast<double>(at.whole), static_cast<double>(averaged_.count(at.whole))};
}

double Worker::mean_scale(const Moment& at) const {
  const MinibatchWeights::Sums weight = weight_of(at);
  return weight.averaged == 0 ? 0 : weight.whole / weight.averaged;
}

void Worker::clip(const Moment& at) {
  const double begin = now_seconds();
  std::vector<std::span<const float>> gradients;
  for (const Task& task : program_.tasks) {
    const auto* update = std::get_if<Update>(&task.what);
    if (update == nullptr) continue;
    gradients.emplace_back(
        parameters_.block(static_cast<std::size_t>(update->block)).gradient.floats());
  }
  const double norm = mean_scale(at) * gradient_norm(gradients, options_.threads);
  gradient_scale_ = static_cast<float>(clip_factor(norm, options_.clip_norm));
  compute_event(at, begin);
}

void Worker::update(const Moment& at) {
  const double begin = now_seconds();
  const auto index = static_cast<std::size_t>(what_of<Update>(at).block);
  BlockMemory& block = parameters_.block(index);
  for (Request& request : weight_sends_[index]) request.wait();
  weight_sends_[index].clear();
  const std::span<float> result = history_.next(index);
  for (const DecayRange& range : decay_[index]) {
    const auto part = [&](auto values) {
      return values.subspan(static_cast<std::size_t>(range.begin),
                            static_cast<std::size_t>(range.end - range.begin));
    };
    UpdateArgs args{
        .weights = part(block.weights.floats()),
        .result = part(result),
        .gradient = part(block.gradient.floats()),
        .state = {},
        .learning_rate = links_.minibatch(at.minibatch).learning_rate * rate_scale_[index],
        .weight_decay = range.decays ? options_.weight_decay : 0,
        .gradient_scale = gradient_scale_ * static_cast<float>(mean_scale(at)),
        .step = at.minibatch + 1,
        .threads = options_.threads};
    for (std::size_t k = 0; k < static_cast<std::size_t>(optimizer_->state_count()); ++k) {
      args.state[k] = part(block.optimizer[k].floats());
    }
    optimizer_->update(args);
  }
  history_.made(index);
  compute_event(at, begin);
}

void Worker::join_forward(const Moment& at, const NetworkBlock& block) {
  const double begin = now_seconds();
  const Bound& bound = bound_[at.task];
  free_for_writing(at, bound.dst);
  const TensorDesc& desc = chains_.at(at.samples).tensor_desc(block.dst);
  const ResidualSums sums =
      plait::join_forward(block, {.src = floats(bound.src, at.minibatch),
                                  .other = floats(bound.other, at.minibatch),
                                  .dst = floats(bound.dst, at.minibatch),
                                  .count = static_cast<std::size_t>(desc.physical_elements()),
                                  .threads = options_.threads});
  ResidualSums& total = residuals_[static_cast<std::size_t>(what_of<Forward>(at).block)];
  total.difference += sums.difference;
  total.other += sums.other;
  compute_event(at, begin);
}

void Worker::join_backward(const Moment& at, const NetworkBlock& block) {
  const double begin = now_seconds();
  const Bound& bound = bound_[at.task];
  const TensorDesc& desc = chains_.at(at.samples).tensor_desc(block.dst);
  plait::join_backward(block, what_of<BackwardData>(at).tensor,
                       {.src = floats(bound.diff_dst, at.minibatch),
                        .dst = floats(bound.diff_src, at.minibatch),
                        .count = static_cast<std::size_t>(desc.physical_elements()),
                        .threads = options_.threads});
  compute_event(at, begin);
}

/// Plays the forward tasks of the moment's samples once more and looks at each result.
std::string Worker::first_non_finite_block(const Moment& at) {
  for (std::size_t i = 0; i < at.task; ++i) {
    const auto* task = std::get_if<Forward>(&program_.tasks[i].what);
    if (task == nullptr || task->samples != samples_of(task_of(at))) continue;
    const Moment again{i, at.minibatch, at.step, at.whole, at.samples};
    const auto index = static_cast<std::size_t>(task->block);
    if (plan_.network.blocks[index].joins()) continue;
    BlockArgs args = args_with_weights(again);
    args.state = nullptr;
    Block& block = chains_.at(at.samples).block(index);
    block.forward(args);
    const std::span<const float> dst(
        args.dst, static_cast<std::size_t>(block.dst_desc().physical_elements()));
    if (!std::ranges::all_of(dst, [](float x) { return std::isfinite(x); })) return block.name();
  }
  return "";
}

}  // namespace plait
