#include "run/serial_step.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/clock.hpp"
#include "optim/clip.hpp"

namespace plait {

namespace {

template <class Body>
void timed(double& seconds, const Body& body) {
  const Stopwatch watch;
  body();
  seconds += watch.seconds();
}

}  // namespace

double TaskSeconds::total() const {
  double sum = loss;
  for (const auto* list : {&forward, &backward_data, &backward_weights, &update}) {
    sum = std::accumulate(list->begin(), list->end(), sum);
  }
  return sum;
}

SerialStep::SerialStep(Chain& chain, ParameterStore& parameters, LossSpec loss)
    : chain_(chain), parameters_(parameters), loss_(std::move(loss)), workspace_(chain, true) {
  for (auto* list :
       {&seconds_.forward, &seconds_.backward_data, &seconds_.backward_weights, &seconds_.update}) {
    list->resize(chain.size());
  }
}

LossResult SerialStep::gradients(const Batch& batch, const Randomness& randomness) {
  const auto args = [&](std::size_t i) {
    BlockArgs block_args = workspace_.args(i, parameters_.block(i));
    block_args.randomness = randomness;
    return block_args;
  };
  workspace_.set_src(batch.images.floats().data());
  for (std::size_t i = 0; i < chain_.size(); ++i) {
    timed(seconds_.forward[i], [&] { chain_.block(i).forward(args(i)); });
  }
  LossResult result;
  timed(seconds_.loss, [&] {
    result = compute_loss(loss_,
                          {.logits = workspace_.dst(),
                           .targets = batch.targets.floats(),
                           .classes = chain_.dst_desc().shape[1]},
                          workspace_.diff_dst());
  });
  for (std::size_t i = chain_.size(); i-- > 0;) {
    timed(seconds_.backward_data[i], [&] { chain_.block(i).backward_data(args(i)); });
    timed(seconds_.backward_weights[i], [&] { chain_.block(i).backward_weights(args(i)); });
  }
  return result;
}

void SerialStep::update(const UpdateRule& rule) {
  const int threads = chain_.options().threads;
  float scale = 1;
  if (rule.clip_norm > 0) {
    std::vector<std::span<const float>> gradients;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      gradients.emplace_back(parameters_.block(i).gradient.floats());
    }
    timed(seconds_.loss, [&] {
      scale = static_cast<float>(clip_factor(gradient_norm(gradients, threads), rule.clip_norm));
    });
  }
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    BlockMemory& block = parameters_.block(i);
    if (block.weights.floats().empty()) continue;
    UpdateArgs args{.weights = block.weights.floats(),
                    .gradient = block.gradient.floats(),
                    .state = {},
                    .learning_rate = rule.learning_rate,
                    .weight_decay = rule.weight_decay,
                    .gradient_scale = scale,
                    .step = rule.step,
                    .threads = threads};
    for (int k = 0; k < rule.optimizer.state_count(); ++k) {
      args.state[static_cast<std::size_t>(k)] =
          block.optimizer[static_cast<std::size_t>(k)].floats();
    }
    timed(seconds_.update[i], [&] { rule.optimizer.update(args); });
  }
}

std::string SerialStep::first_non_finite_block(const Batch& batch, const Randomness& randomness) {
  workspace_.set_src(batch.images.floats().data());
  for (std::size_t i = 0; i < chain_.size(); ++i) {
    BlockArgs args = workspace_.args(i, parameters_.block(i));
    args.randomness = randomness;
    args.state = nullptr;  // running statistics stay as they are
    chain_.block(i).forward(args);
    const std::span<const float> dst(
        args.dst, static_cast<std::size_t>(chain_.block(i).dst_desc().physical_elements()));
    if (!std::ranges::all_of(dst, [](float x) { return std::isfinite(x); })) {
      return chain_.block(i).name();
    }
  }
  return "";
}

}  // namespace plait
