// Clips gradients by their norm, and calls the optimizer on the weights of a block.
#include "run/updates.hpp"

#include <cmath>

#include "optim/clip.hpp"

namespace plait::run {

Updates::Updates(const WorkerContext& context, WorkerModel& model)
    : context_(context), model_(model) {
  for (const int delay : plan::staleness(context.plan)) {
    rate_scale_.push_back(std::pow(1.0 + delay, -context.options.stale_lr));
  }
  const Chain& home = model.chains.home();
  for (std::size_t i = 0; i < home.size(); ++i) {
    decay_.push_back(decay_ranges(home.block(i), context.options.decay_matrices));
  }
}

void Updates::add_gradient(const TaskRun& at) {
  const auto& task = context_.what<plan::AddGradient>(at);
  const auto user = static_cast<std::size_t>(task.block);
  const std::span<const float> gradient = model_.parameters.block(user).gradient.floats();
  const std::span<float> sum = model_.parameters.owner(user).gradient.floats();
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += gradient[i];
}

void Updates::clip(const TaskRun& at) {
  std::vector<std::span<const float>> gradients;
  for (const plan::Task& task : context_.program().tasks) {
    const auto* update = std::get_if<plan::Update>(&task.what);
    if (update == nullptr) continue;
    gradients.emplace_back(
        model_.parameters.block(static_cast<std::size_t>(update->block)).gradient.floats());
  }
  const double norm =
      context_.mean_scale(at) * optim::gradient_norm(gradients, context_.options.threads);
  gradient_scale_ = static_cast<float>(optim::clip_factor(norm, context_.options.clip_norm));
}

void Updates::update(const TaskRun& at) {
  const auto index = static_cast<std::size_t>(context_.what<plan::Update>(at).block);
  BlockMemory& block = model_.parameters.block(index);
  const std::span<float> result = model_.history.next(index);
  for (const DecayRange& range : decay_[index]) {
    const auto part = [&](auto values) {
      return values.subspan(static_cast<std::size_t>(range.begin),
                            static_cast<std::size_t>(range.end - range.begin));
    };
    const double rate = context_.links.minibatch(at.minibatch).learning_rate;
    optim::UpdateArgs args{
        .weights = part(block.weights.floats()),
        .result = part(result),
        .gradient = part(block.gradient.floats()),
        .state = {},
        .learning_rate = rate * rate_scale_[index],
        .weight_decay = range.decays ? context_.options.weight_decay : 0,
        .gradient_scale = gradient_scale_ * static_cast<float>(context_.mean_scale(at)),
        .step = at.minibatch + 1,
        .threads = context_.options.threads};
    for (std::size_t k = 0; k < static_cast<std::size_t>(model_.optimizer->state_count()); ++k) {
      args.state[k] = part(block.optimizer[k].floats());
    }
    model_.optimizer->update(args);
  }
  model_.history.made(index);
}

}  // namespace plait::run
