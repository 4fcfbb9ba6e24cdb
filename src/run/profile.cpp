#include "run/profile.hpp"

#include <algorithm>

#include "base/clock.hpp"
#include "model/macs.hpp"
#include "model/model_file.hpp"
#include "run/serial_step.hpp"

namespace plait {

namespace {

/// One measured step: the clock around it and the clocks of its tasks.
struct MeasuredStep {
  double wall = 0;
  TaskSeconds tasks;
};

Batch made_up_batch(const ProfileConfig& config) {
  Batch batch;
  batch.images = Tensor(config.data_shape.with_front(config.batch));
  batch.targets = Tensor(Shape{config.batch, 1});
  Rng rng(1, Purpose::test);
  for (float& x : batch.images.floats()) x = rng.normal();
  for (float& x : batch.targets.floats()) {
    x = static_cast<float>(rng.below(static_cast<std::uint32_t>(config.classes)));
  }
  return batch;
}

/// The seconds of one step: the clocks after it minus the clocks before it.
TaskSeconds difference(const TaskSeconds& after, const TaskSeconds& before) {
  TaskSeconds step = after;
  const auto subtract = [](std::vector<double>& a, const std::vector<double>& b) {
    for (std::size_t i = 0; i < a.size(); ++i) a[i] -= b[i];
  };
  subtract(step.forward, before.forward);
  subtract(step.backward_data, before.backward_data);
  subtract(step.backward_weights, before.backward_weights);
  subtract(step.update, before.update);
  step.loss -= before.loss;
  return step;
}

}  // namespace

Profile profile(const ProfileConfig& config) {
  const ModelSpec model = load_model(config.model, config.data_shape, config.classes);
  Chain chain(model, {.batch = config.batch, .threads = config.threads});
  const auto optimizer = make_optimizer({.kind = "sgd", .momentum = 0.9});
  ParameterStore parameters(chain, 1, optimizer->state_count());
  SerialStep step(chain, parameters, {});
  const Batch batch = made_up_batch(config);

  std::vector<MeasuredStep> measured;
  for (std::int64_t i = 0; i < config.warmup + config.steps; ++i) {
    const TaskSeconds before = step.seconds();
    const Stopwatch watch;
    step.gradients(batch, {.seed = 1, .step = static_cast<std::uint64_t>(i), .first_sample = 0});
    step.update(
        {.optimizer = *optimizer, .learning_rate = 1e-4, .weight_decay = 5e-4, .step = i + 1});
    const double wall = watch.seconds();
    if (i < config.warmup) continue;
    measured.push_back({wall, difference(step.seconds(), before)});
  }

  // Means of one set of steps, so that the tasks add up to the step; the slower half is noise.
  std::ranges::sort(measured, {}, &MeasuredStep::wall);
  measured.resize((measured.size() + 1) / 2);
  const auto mean_ms = [&](auto&& pick) {
    double sum = 0;
    for (const MeasuredStep& one : measured) sum += pick(one.tasks);
    return 1e3 * sum / static_cast<double>(measured.size());
  };
  const std::vector<BlockCost> costs = block_costs(model);
  Profile result;
  for (std::size_t i = 0; i < chain.size(); ++i) {
    result.blocks.push_back(
        {.name = chain.block(i).name(),
         .forward_ms = mean_ms([&](const TaskSeconds& s) { return s.forward[i]; }),
         .backward_data_ms = mean_ms([&](const TaskSeconds& s) { return s.backward_data[i]; }),
         .backward_weights_ms =
             mean_ms([&](const TaskSeconds& s) { return s.backward_weights[i]; }),
         .update_ms = mean_ms([&](const TaskSeconds& s) { return s.update[i]; }),
         .macs = costs[i].macs * config.batch,
         .parameters = costs[i].parameters,
         .dst_bytes = static_cast<std::int64_t>(chain.block(i).dst_desc().bytes())});
    const BlockProfile& block = result.blocks.back();
    result.sum_ms +=
        block.forward_ms + block.backward_data_ms + block.backward_weights_ms + block.update_ms;
  }
  result.loss_ms = mean_ms([](const TaskSeconds& s) { return s.loss; });
  result.sum_ms += result.loss_ms;
  for (const MeasuredStep& one : measured) result.step_ms += one.wall;
  result.step_ms *= 1e3 / static_cast<double>(measured.size());
  return result;
}

}  // namespace plait
