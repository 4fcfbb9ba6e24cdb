// Forward and backward through the blocks one after the other; every tensor has memory of its own.
#include "session/fit_learner.hpp"

#include <algorithm>

namespace plait::session {

namespace {

/// BatchNorm begins with deviation 1, however small the target is: its scale has a long way to go.
constexpr double kNormalisedRate = 10;

}  // namespace

FitLearner::FitLearner(run::Chain& chain, run::ParameterStore& store, std::vector<int> blocks,
                       const FitOptions& options)
    : options_(options) {
  std::size_t scratch = 0;
  bool normalises = false;
  for (const int index : blocks) {
    const auto at = static_cast<std::size_t>(index);
    const plan::NetworkBlock& block = chain.network().blocks[at];
    kernels::Block& kernel = chain.block(at);
    if (parts_.empty()) from_ = block.srcs.front();
    parts_.push_back({.block = &kernel,
                      .parameters = &store.block(at),
                      .srcs = block.srcs,
                      .dst = block.dst,
                      .saved = tensor::allocate_bytes(kernel.saved_bytes()),
                      .pending = tensor::allocate_bytes(kernel.pending_bytes()),
                      .optimizer = optim::make_optimizer({.kind = "adam"})});
    scratch = std::max(scratch, kernel.scratch_bytes());
    normalises = normalises || !store.block(at).state.floats().empty();
    made_.emplace(block.dst, kernel.dst_desc());
    diffs_.emplace(block.dst, kernel.dst_desc());
  }
  diffs_.emplace(from_, parts_.front().block->src_desc());
  scratch_ = tensor::allocate_bytes(scratch);
  rate_ = options.learning_rate * (normalises ? kNormalisedRate : 1);
}

kernels::BlockArgs FitLearner::args(const Part& part) {
  kernels::BlockArgs args{.dst = made_.at(part.dst),
                          .diff_dst = diffs_.at(part.dst),
                          .weights = part.parameters->weights.floats().data(),
                          .diff_weights = part.parameters->gradient.floats().data(),
                          .state = part.parameters->state.floats().data(),
                          .saved = part.saved.get(),
                          .pending = part.pending.get(),
                          .scratch = scratch_.get(),
                          .training = true,
                          .randomness = {}};
  for (const int tensor : part.srcs) {
    args.srcs.push_back(tensor == from_ ? src_ : tensor::ConstView(made_.at(tensor)));
  }
  return args;
}

const tensor::Tensor& FitLearner::forward(const tensor::Tensor& src) {
  src_ = src;
  for (const Part& part : parts_) part.block->forward(args(part));
  return made_.at(parts_.back().dst);
}

void FitLearner::backward(const Part& part) {
  kernels::BlockArgs task = args(part);
  std::map<int, tensor::Tensor> more;  // gradients to add
  for (const int tensor : part.srcs) {
    if (!begun_[tensor]) {
      task.diff_srcs.emplace_back(diffs_.at(tensor));
    } else {
      task.diff_srcs.emplace_back(more.emplace(tensor, diffs_.at(tensor).desc()).first->second);
    }
    begun_[tensor] = true;
  }
  part.block->backward_data(task);
  part.block->backward_weights(task);
  for (auto& [tensor, gradient] : more) {
    const std::span<float> sum = diffs_.at(tensor).floats();
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += gradient.floats()[i];
  }
}

void FitLearner::update(const Part& part, double rate, std::int64_t step) const {
  if (part.parameters->weights.floats().empty()) return;
  part.optimizer->update(
      {.weights = part.parameters->weights.floats(),
       .result = part.parameters->weights.floats(),
       .gradient = part.parameters->gradient.floats(),
       .state = {part.parameters->optimizer[0].floats(), part.parameters->optimizer[1].floats()},
       .learning_rate = rate,
       .weight_decay = 0,
       .gradient_scale = 1,
       .step = step + 1,
       .threads = options_.threads});
}

double FitLearner::learn(const tensor::Tensor& wanted, std::int64_t step, std::int64_t steps) {
  const int result = parts_.back().dst;
  const std::span<const float> dst = made_.at(result).floats();
  const std::span<float> diff = diffs_.at(result).floats();
  const std::span<const float> target = wanted.floats();
  double missed = 0;
  double size = 0;
  const float scale = 2.0F / static_cast<float>(dst.size());
  for (std::size_t i = 0; i < dst.size(); ++i) {
    const float d = dst[i] - target[i];
    diff[i] = scale * d;
    missed += static_cast<double>(d) * d;
    size += static_cast<double>(target[i]) * target[i];
  }
  begun_.clear();
  for (auto part = parts_.rbegin(); part != parts_.rend(); ++part) backward(*part);
  const double left = 1 - static_cast<double>(step) / static_cast<double>(steps);
  for (const Part& part : parts_) update(part, rate_ * left, step);
  return size > 0 ? missed / size : 0;
}

}  // namespace plait::session
