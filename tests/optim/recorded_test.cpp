// Optimizers, schedules, losses and clipping against values recorded from PyTorch
// (record_optim.py).
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <span>
#include <vector>

#include "optim/clip.hpp"
#include "optim/loss.hpp"
#include "optim/optimizer.hpp"
#include "optim/schedule.hpp"

namespace plait::optim {
namespace {

using Floats = std::vector<float>;
using nlohmann::json;

const json& recorded() {
  static const json values = [] {
    std::ifstream in(PLAIT_SOURCE_DIR "/tests/optim/recorded_optim.json");
    return json::parse(in);
  }();
  return values;
}

void expect_close(std::span<const float> got, const json& wanted, double relative,
                  double absolute) {
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double value = wanted[i].get<double>();
    EXPECT_NEAR(got[i], value, relative * std::abs(value) + absolute) << "at " << i;
  }
}

TEST(Recorded, OptimizersTakeTenSteps) {
  ASSERT_EQ(recorded()["optimizers"].size(), 6u);
  for (const json& one : recorded()["optimizers"]) {
    SCOPED_TRACE(one["name"].get<std::string>());
    const json& s = one["spec"];
    const OptimizerSpec defaults;
    const auto optimizer = make_optimizer({.kind = s["kind"].get<std::string>(),
                                           .momentum = s.value("momentum", 0.0),
                                           .nesterov = s.value("nesterov", false),
                                           .beta1 = s.value("beta1", defaults.beta1),
                                           .beta2 = s.value("beta2", defaults.beta2),
                                           .epsilon = s.value("epsilon", defaults.epsilon)});
    Floats weights = one["start"].get<Floats>();
    Floats first(weights.size()), second(weights.size());
    ASSERT_EQ(one["gradients"].size(), 10u);
    for (std::size_t step = 0; step < 10; ++step) {
      Floats gradient = one["gradients"][step].get<Floats>();
      for (float& g : gradient) g *= 4;  // undone by gradient_scale, exactly
      optimizer->update({.weights = weights,
                         .result = weights,
                         .gradient = gradient,
                         .state = {std::span(first), std::span(second)},
                         .learning_rate = one["rates"][step].get<double>(),
                         .weight_decay = one["decay"].get<double>(),
                         .gradient_scale = 0.25f,
                         .step = static_cast<std::int64_t>(step) + 1});
      // The absolute part: one rounding of a step of up to 10 that ends near zero.
      expect_close(weights, one["weights"][step], 1e-6, 3e-7);
    }
  }
}

TEST(Recorded, Schedules) {
  for (const json& one : recorded()["schedules"]) {
    const json& s = one["spec"];
    const ScheduleSpec spec{.kind = s["kind"].get<std::string>(),
                            .base = s["base"].get<double>(),
                            .step_size = s.value("step_size", 0),
                            .gamma = s.value("gamma", 0.1),
                            .final_fraction = s.value("final_fraction", 0.0),
                            .total_steps = s.value("total_steps", 0)};
    check_schedule(spec);
    for (std::size_t step = 0; step < one["rates"].size(); ++step) {
      EXPECT_NEAR(learning_rate(spec, static_cast<std::int64_t>(step)),
                  one["rates"][step].get<double>(), 1e-12)
          << spec.kind << " at step " << step;
    }
  }
}

TEST(Recorded, Losses) {
  ASSERT_EQ(recorded()["losses"].size(), 8u);
  for (const json& one : recorded()["losses"]) {
    const LossSpec spec{.kind = one["kind"].get<std::string>(),
                        .label_smoothing = one["smoothing"].get<double>(),
                        .class_weights = one.value("weights", Floats{})};
    SCOPED_TRACE(spec.kind + " " + std::to_string(spec.label_smoothing));
    check_loss(spec);
    const Floats logits = one["logits"].get<Floats>();
    const Floats targets = one["targets"].get<Floats>();
    const LossBatch batch{
        .logits = logits, .targets = targets, .classes = one["classes"].get<std::int64_t>()};
    Floats diff(logits.size());
    const LossResult result = compute_loss(spec, batch, diff);
    double weight = static_cast<double>(targets.size());
    if (targets.size() == logits.size()) weight /= static_cast<double>(batch.classes);
    if (!spec.class_weights.empty()) {
      weight = 0;
      for (const float label : targets)
        weight += spec.class_weights[static_cast<std::size_t>(label)];
    }
    EXPECT_NEAR(result.sum / weight, one["mean"].get<double>(), 1e-6 * one["mean"].get<double>());
    expect_close(diff, one["gradient"], 2e-6, 2e-8);
    EXPECT_EQ(compute_loss(spec, batch).sum, result.sum);
    EXPECT_EQ(compute_loss(spec, batch).correct, result.correct);
  }
}

TEST(Recorded, LossesOfPixels) {
  ASSERT_EQ(recorded()["pixel_losses"].size(), 4u);
  for (const json& one : recorded()["pixel_losses"]) {
    const LossSpec spec{.kind = "cross_entropy",
                        .label_smoothing = one["smoothing"].get<double>(),
                        .class_weights = one.value("weights", Floats{})};
    SCOPED_TRACE(
        fmt::format("smoothing {}, {} weights", spec.label_smoothing, spec.class_weights.size()));
    const Floats logits = one["logits"].get<Floats>();
    const Floats targets = one["targets"].get<Floats>();
    LossBatch batch{.logits = logits,
                    .targets = targets,
                    .classes = one["classes"].get<std::int64_t>(),
                    .pixels = one["pixels"].get<std::int64_t>()};
    double weight = 0;
    std::int64_t counted = 0;
    for (const float label : targets) {
      if (label < 0) continue;
      ++counted;
      weight +=
          spec.class_weights.empty() ? 1 : spec.class_weights[static_cast<std::size_t>(label)];
    }
    ASSERT_EQ(counted, 20);
    Floats diff(logits.size(), 7.0F);
    const LossResult result = compute_loss(spec, batch, diff);
    EXPECT_EQ(result.counted, counted);
    EXPECT_NEAR(result.sum / weight, one["mean"].get<double>(), 1e-6 * one["mean"].get<double>());
    expect_close(diff, one["gradient"], 2e-6, 2e-8);
    // Each image alone, with the weight of both: the same bits.
    batch.scale = 1 / weight;
    for (std::size_t n = 0; n < 2; ++n) {
      LossBatch half = batch;
      half.logits = batch.logits.subspan(n * 60, 60);
      half.targets = batch.targets.subspan(n * 12, 12);
      Floats part(60);
      compute_loss(spec, half, part);
      EXPECT_TRUE(std::ranges::equal(part, std::span(diff).subspan(n * 60, 60)));
    }
  }
}

TEST(Recorded, Clipping) {
  for (const json& one : recorded()["clips"]) {
    const auto gradients = one["gradients"].get<std::vector<Floats>>();
    const std::vector<std::span<const float>> spans(gradients.begin(), gradients.end());
    const double norm = gradient_norm(spans);
    EXPECT_NEAR(norm, one["norm"].get<double>(), 1e-6 * norm);
    const auto factor = static_cast<float>(clip_factor(norm, one["max_norm"].get<double>()));
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      Floats clipped = gradients[i];
      for (float& g : clipped) g *= factor;
      expect_close(clipped, one["clipped"][i], 1e-6, 0);
    }
  }
}

}  // namespace
}  // namespace plait::optim
