// Plays a serial plan on noise, keeps the faster half of the steps, and repeats where they scatter
// too much.
#include "run/profile.hpp"

#include <algorithm>

#include "base/clock.hpp"
#include "base/rng.hpp"
#include "graph/input_type.hpp"
#include "run/cores.hpp"
#include "run/solo_worker.hpp"
#include "transport/threads.hpp"

namespace plait::run {

namespace {

/// One measured step: the clock around it and the seconds of each task of the program.
struct MeasuredStep {
  double wall = 0;
  std::vector<double> tasks;
};

data::Batch noise_for(const Chain& chain, std::int64_t samples) {
  const std::int64_t classes = chain.dst_desc().shape[1];
  data::Batch batch;
  const plan::Network& network = chain.network();
  batch.images = tensor::Tensor(network.input.with_front(samples), network.input_type);
  batch.targets = tensor::Tensor(tensor::Shape{samples, std::max<std::int64_t>(1, chain.pixels())});
  Rng rng(1, Purpose::test);
  if (network.input_type == tensor::DType::i32) {
    graph::IdLimit ids;
    for (const plan::NetworkBlock& block : network.blocks) ids.add(block.spec);
    for (std::int32_t& id : batch.images.as<std::int32_t>()) {
      id = static_cast<std::int32_t>(rng.below(static_cast<std::uint32_t>(ids.limit)));
    }
  } else {
    for (float& x : batch.images.floats()) x = rng.normal();
  }
  for (float& x : batch.targets.floats()) {
    x = static_cast<float>(rng.below(static_cast<std::uint32_t>(classes)));
  }
  return batch;
}

constexpr std::int64_t kFewestSteps = 3;
constexpr double kLongTry = 5;  // seconds; a noisy profile that took so long is not repeated

/// The measured steps of one worker, and the walls of all of them.
struct Measured {
  std::vector<MeasuredStep> steps;
  std::vector<double> walls;
};

Measured play(const plan::Plan& plan, const ProfileConfig& config) {
  SoloWorker worker(plan,
                    {.threads = config.threads,
                     .optimizer = {.kind = "sgd", .momentum = 0.9},
                     .weight_decay = 5e-4},
                    config.warmup + config.steps);
  const data::Batch noise = noise_for(worker.chain(), plan.batch);
  std::vector<MeasuredStep> steps;
  double measured = 0;
  for (std::int64_t i = 0; i < config.warmup + config.steps; ++i) {
    if (config.enough_seconds > 0 && measured > config.enough_seconds &&
        i >= config.warmup + kFewestSteps) {
      break;
    }
    const Stopwatch watch;
    worker.step(noise, 1e-4);
    steps.push_back({.wall = watch.seconds(), .tasks = {}});
    if (i >= config.warmup) measured += steps.back().wall;
  }
  const std::size_t tasks = plan.programs.front().tasks.size();
  for (MeasuredStep& step : steps) step.tasks.resize(tasks);
  for (const trace::Event& event : worker.trace().events()) {
    steps[static_cast<std::size_t>(event.step)].tasks[static_cast<std::size_t>(event.task)] +=
        event.end - event.begin;
  }
  steps.erase(steps.begin(), steps.begin() + config.warmup);
  Measured result;
  for (const MeasuredStep& step : steps) result.walls.push_back(step.wall);
  // Means of one set of steps, so that the tasks add up to the step; the slower half is noise.
  std::ranges::sort(steps, {}, &MeasuredStep::wall);
  steps.resize((steps.size() + 1) / 2);
  result.steps = std::move(steps);
  return result;
}

Profile to_profile(const plan::Plan& plan, const std::vector<MeasuredStep>& steps) {
  Profile result;
  for (const plan::NetworkBlock& block : plan.network.blocks) {
    result.blocks.push_back(
        {.name = block.name,
         .whole = block.spec.name.empty() ? block.name : block.spec.name,
         .added = block.added,
         .macs = block.macs * plan.batch,
         .parameters = block.parameters,
         .dst_bytes = plan.network.tensors[static_cast<std::size_t>(block.dst)] * plan.batch *
                      static_cast<std::int64_t>(sizeof(float))});
  }
  const double scale = 1e3 / static_cast<double>(steps.size());
  const auto& tasks = plan.programs.front().tasks;
  for (const MeasuredStep& step : steps) {
    result.step_ms += scale * step.wall;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      const double ms = scale * step.tasks[i];
      const auto block = static_cast<std::size_t>(std::max(plan::block_of(tasks[i]), 0));
      result.sum_ms += ms;
      switch (plan::kind_of(tasks[i])) {
        case plan::TaskKind::forward: result.blocks[block].forward_ms += ms; break;
        case plan::TaskKind::backward_data: result.blocks[block].backward_data_ms += ms; break;
        case plan::TaskKind::backward_weights:
          result.blocks[block].backward_weights_ms += ms;
          break;
        case plan::TaskKind::add_gradient:
        case plan::TaskKind::update: result.blocks[block].update_ms += ms; break;
        default: result.loss_ms += ms; break;
      }
    }
  }
  return result;
}

}  // namespace

Profile profile(const plan::Plan& plan, const ProfileConfig& config) {
  transport::ThreadWorld world({.nodes = 1, .members_per_node = config.side_by_side});
  std::vector<Measured> measured(static_cast<std::size_t>(config.side_by_side));
  transport::run_members(world, [&](int rank) {
    pin_this_thread({.place = rank, .workers = config.side_by_side, .threads = config.threads});
    world.group(rank)->barrier();
    measured[static_cast<std::size_t>(rank)] = play(plan, config);
  });
  std::vector<MeasuredStep> steps;
  double noise = 0;
  for (Measured& one : measured) {
    steps.insert(steps.end(), one.steps.begin(), one.steps.end());
    noise = std::max(noise, noise_of(std::move(one.walls)));
  }
  Profile result = to_profile(plan, steps);
  result.noise = noise;
  return result;
}

double noise_of(std::vector<double> walls) {
  if (walls.size() < 2) return 0;
  std::ranges::sort(walls);
  return walls.front() > 0 ? walls[walls.size() / 2] / walls.front() - 1 : 0;
}

Profile steady_profile(const plan::Plan& plan, const ProfileConfig& config, int tries) {
  const Stopwatch watch;
  Profile best = profile(plan, config);
  double quietest = best.noise;
  for (int again = 1; again < tries && quietest > kNoisy && watch.seconds() < kLongTry; ++again) {
    Profile next = profile(plan, config);
    quietest = std::min(quietest, next.noise);
    if (next.step_ms < best.step_ms) best = std::move(next);
  }
  best.noise = quietest;
  return best;
}

double measure_sum_rate(int workers) {
  constexpr std::size_t kFloats = 4 << 20;
  constexpr int kRounds = 5;
  transport::ThreadWorld world({.nodes = 1, .members_per_node = std::max(workers, 2)});
  std::vector<double> seconds;
  transport::run_members(world, [&](int rank) {
    pin_this_thread({.place = rank, .workers = std::max(workers, 2)});
    const auto group = world.group(rank);
    std::vector<float> values(kFloats, 1.0F);
    for (int round = 0; round < kRounds; ++round) {
      group->barrier();
      const Stopwatch watch;
      group->all_reduce(values);
      if (rank == 0) seconds.push_back(watch.seconds());
    }
  });
  // Each member reads a shard of every member, then copies the shards of the others.
  const double n = world.size();
  const double bytes = sizeof(float) * kFloats * (1 + (n - 1) / n);
  return bytes / *std::ranges::min_element(seconds);
}

}  // namespace plait::run
