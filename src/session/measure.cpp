// Runs profiles at several batch sizes, alone and with all cores busy.
#include "session/measure.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/median.hpp"
#include "base/memory.hpp"
#include "plan/worker_memory.hpp"
#include "run/cores.hpp"

namespace plait::session {

namespace {

constexpr int kSmallerBatches = 3;

/// How often a step of this length is measured beside its copies.
int rounds_together(double step_ms) { return step_ms > 1000 ? 1 : step_ms > 250 ? 2 : 3; }

}  // namespace

std::vector<std::int64_t> batches_to_measure(std::int64_t batch, std::int64_t microbatches) {
  std::vector<std::int64_t> batches{batch};
  const auto add = [&](std::int64_t samples) {
    if (samples > 0 && std::ranges::find(batches, samples) == batches.end()) {
      batches.push_back(samples);
    }
  };
  for (int i = 1; i <= kSmallerBatches; ++i) add(batch >> i);
  add(batch / std::max<std::int64_t>(1, microbatches));
  return batches;
}

cost::ProfilePoint to_point(const run::Profile& measured, std::int64_t batch) {
  cost::ProfilePoint point{.batch = batch,
                           .blocks = {},
                           .loss_ms = measured.loss_ms,
                           .load_ms = 0,
                           .step_ms = measured.step_ms};
  for (const run::BlockProfile& block : measured.blocks) {
    (block.added ? point.added : point.blocks)
        .push_back({.name = block.name,
                    .forward_ms = block.forward_ms,
                    .backward_data_ms = block.backward_data_ms,
                    .backward_weights_ms = block.backward_weights_ms,
                    .update_ms = block.update_ms,
                    .macs = block.macs,
                    .parameters = block.parameters,
                    .dst_bytes = block.dst_bytes});
  }
  return point;
}

cost::ProfileFile measure_points(const MeasureRequest& request, const Measuring& told) {
  const std::int64_t batch = request.batches.front();
  told(fmt::format("batch {}", batch));
  const run::Profile main = run::steady_profile(request.plan(batch), request.config);
  cost::ProfileFile file{.threads = request.config.threads,
                         .steps = request.config.steps,
                         .points = {to_point(main, batch)},
                         .noise = main.noise};
  measure_more_points(request, told, file);
  return file;
}

void measure_more_points(const MeasureRequest& request, const Measuring& told,
                         cost::ProfileFile& file) {
  for (std::size_t i = 1; i < request.batches.size(); ++i) {
    const std::int64_t batch = request.batches[i];
    told(fmt::format("batch {}", batch));
    const run::Profile smaller = run::steady_profile(request.plan(batch), request.config);
    file.points.push_back(to_point(smaller, batch));
    file.noise = std::max(file.noise, smaller.noise);
  }
  if (!request.together) return;
  const int beside = run::usable_cores() / request.config.threads;
  const std::int64_t needed = beside * plan::process_memory(request.plan(request.batches.front()),
                                                            0, 1, request.config.threads);
  if (const std::int64_t there = available_memory_bytes();
      beside > 1 && (there == 0 || needed < there)) {
    told(fmt::format("{} workers at once", beside));
    // In turn, so that both halves of a ratio come from the same minute.
    const plan::Plan plan = request.plan(request.batches.front());
    run::ProfileConfig all = request.config;
    all.side_by_side = beside;
    double alone = file.points.front().step_ms;
    std::vector<double> factors;
    for (const int rounds = rounds_together(alone); std::ssize(factors) < rounds;) {
      if (!factors.empty()) alone = profile(plan, request.config).step_ms;
      factors.push_back(profile(plan, all).step_ms / alone);
    }
    file.contention = {.workers = beside, .factor = std::max(1.0, median(std::move(factors)))};
  }
  file.sum_bytes_per_second = run::measure_sum_rate(std::max(2, beside));
}

std::string noise_note(double noise, const std::string& advice) {
  if (noise <= run::kNoisy) return "";
  return fmt::format(
      "note: this machine was busy: steps of equal work were {:.0f}% apart each time.\n"
      "      The times may be too long; stop other programs, then {}\n",
      100 * noise, advice);
}

}  // namespace plait::session
