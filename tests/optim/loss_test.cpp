// Losses against a twin in plain double, finite differences, and the hard cases.
#include "optim/loss.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/error.hpp"
#include "base/rng.hpp"
#include "optim/class_areas.hpp"

namespace plait::optim {
namespace {

using Floats = std::vector<float>;
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// -sum_k q_k log(exp(x_k) / sum exp(x)), without any care for overflow.
double twin_cross_entropy(const std::vector<double>& x, std::size_t label, double smoothing) {
  double sum = 0;
  for (const double value : x) sum += std::exp(value);
  double loss = 0;
  for (std::size_t k = 0; k < x.size(); ++k) {
    const double q = smoothing / static_cast<double>(x.size()) + (k == label ? 1 - smoothing : 0);
    loss -= q * std::log(std::exp(x[k]) / sum);
  }
  return loss;
}

double twin_squares(const std::vector<double>& x, std::size_t label, double) {
  double loss = 0;
  for (std::size_t k = 0; k < x.size(); ++k) {
    loss += (x[k] - (k == label ? 1 : 0)) * (x[k] - (k == label ? 1 : 0));
  }
  return loss / static_cast<double>(x.size());
}

void compare_with_twin(const LossSpec& spec, std::int64_t samples, std::int64_t classes) {
  Rng rng(3, Purpose::test, static_cast<std::uint64_t>(classes));
  Floats logits(static_cast<std::size_t>(samples * classes));
  Floats labels(static_cast<std::size_t>(samples));
  for (float& x : logits) x = 2 * rng.normal();
  for (float& y : labels) y = static_cast<float>(rng.below(static_cast<std::uint32_t>(classes)));
  Floats diff(logits.size(), kNan);
  const double scale = 0.37;
  const LossResult got = compute_loss(
      spec, {.logits = logits, .targets = labels, .classes = classes, .scale = scale}, diff);

  const auto twin = spec.kind == "mse" ? twin_squares : twin_cross_entropy;
  double sum = 0;
  std::int64_t correct = 0;
  for (std::size_t n = 0; n < labels.size(); ++n) {
    const auto width = static_cast<std::size_t>(classes);
    std::vector<double> x(logits.begin() + static_cast<std::ptrdiff_t>(n * width),
                          logits.begin() + static_cast<std::ptrdiff_t>((n + 1) * width));
    const auto label = static_cast<std::size_t>(labels[n]);
    sum += twin(x, label, spec.label_smoothing);
    correct +=
        std::max_element(x.begin(), x.end()) - x.begin() == static_cast<std::ptrdiff_t>(label);
    for (std::size_t k = 0; k < width; ++k) {
      constexpr double h = 1e-5;
      std::vector<double> up = x, down = x;
      up[k] += h;
      down[k] -= h;
      const double slope =
          (twin(up, label, spec.label_smoothing) - twin(down, label, spec.label_smoothing)) /
          (2 * h);
      EXPECT_NEAR(diff[n * width + k], scale * slope, 1e-6) << "sample " << n << " class " << k;
    }
  }
  EXPECT_NEAR(got.sum, sum, 1e-9 * sum + 1e-12);
  EXPECT_EQ(got.correct, correct);
}

TEST(Loss, TwinAndFiniteDifferences) {
  for (const std::int64_t classes : {2, 5, 10}) {
    compare_with_twin({.kind = "cross_entropy"}, 9, classes);
    compare_with_twin({.kind = "cross_entropy", .label_smoothing = 0.1}, 9, classes);
    compare_with_twin({.kind = "cross_entropy", .label_smoothing = 1}, 9, classes);
    compare_with_twin({.kind = "mse"}, 9, classes);
  }
}

TEST(Loss, ShardsAddUpToTheBatch) {
  const Floats logits{1, 2, 3, -1, 0, 4};
  const Floats labels{0, 1, 1};
  Floats whole(6), parts(6);
  const LossBatch batch{.logits = logits, .targets = labels, .classes = 2};
  const LossResult all = cross_entropy(batch, 0.1, whole);
  double sum = 0;
  for (const auto& [begin, count] : {std::pair<std::size_t, std::size_t>{0, 1}, {1, 2}}) {
    const LossBatch shard{.logits = batch.logits.subspan(2 * begin, 2 * count),
                          .targets = batch.targets.subspan(begin, count),
                          .classes = 2,
                          .scale = 1.0 / 3};
    sum += cross_entropy(shard, 0.1, std::span(parts).subspan(2 * begin, 2 * count)).sum;
  }
  EXPECT_DOUBLE_EQ(sum, all.sum);
  EXPECT_EQ(parts, whole);
}

TEST(Loss, LargeLogitsDoNotOverflow) {
  const Floats logits{1e30f, -1e30f, 0, 1000, -1000, 0};
  const Floats labels{0, 1};
  Floats diff(6);
  const LossResult result =
      cross_entropy({.logits = logits, .targets = labels, .classes = 3}, 0, diff);
  EXPECT_DOUBLE_EQ(result.sum, 2000);
  EXPECT_EQ(diff, (Floats{0, 0, 0, 0.5f, -0.5f, 0}));
  EXPECT_EQ(result.correct, 1);
}

TEST(Loss, MinusInfinityIsAnImpossibleClass) {
  const Floats logits{0, -kInf, 0};
  const Floats label{0}, impossible{1};
  EXPECT_NEAR(cross_entropy({.logits = logits, .targets = label, .classes = 3}, 0).sum,
              std::log(2.0), 1e-12);
  EXPECT_EQ(cross_entropy({.logits = logits, .targets = impossible, .classes = 3}, 0).sum, kInf);
}

TEST(Loss, NanAndInfinityComeOutAsNan) {
  for (const std::size_t where : {0u, 1u, 2u}) {
    for (const float bad : {kNan, kInf}) {
      Floats logits{1, 2, 3};
      logits[where] = bad;
      Floats diff(3);
      const Floats label{0};
      const LossBatch batch{.logits = logits, .targets = label, .classes = 3};
      EXPECT_TRUE(std::isnan(cross_entropy(batch, 0, diff).sum)) << where;
      EXPECT_TRUE(std::isnan(diff[where]));
      EXPECT_TRUE(std::isnan(cross_entropy(batch, 0.1).sum));
      const LossResult squares = mean_squared_error(batch);
      EXPECT_TRUE(std::isnan(bad) ? std::isnan(squares.sum) : squares.sum == kInf);
      if (std::isnan(bad)) {
        EXPECT_EQ(cross_entropy(batch, 0).correct + squares.correct, 0);
      }
    }
  }
}

TEST(Loss, FirstOfEqualsWins) {
  const Floats logits{2, 2, 1, 2, 2, 1};
  const Floats labels{0, 1};
  EXPECT_EQ(cross_entropy({.logits = logits, .targets = labels, .classes = 3}, 0).correct, 1);
  EXPECT_EQ(mean_squared_error({.logits = logits, .targets = labels, .classes = 3}).correct, 1);
}

TEST(Loss, SquaredErrorOfSingleValues) {
  const Floats logits{1, 5}, targets{0.5f, 7};
  Floats diff(2);
  const LossResult result =
      mean_squared_error({.logits = logits, .targets = targets, .classes = 1}, diff);
  EXPECT_DOUBLE_EQ(result.sum, 4.25);
  EXPECT_EQ(diff, (Floats{0.5f, -2}));
  EXPECT_EQ(result.correct, 0);
}

TEST(Loss, ABadLabelNamesItsSample) {
  const Floats logits(9);
  for (const float bad : {3.0f, -1.0f, 0.5f, kNan, kInf, 1e30f}) {
    const Floats labels{0, bad, 2};
    const LossBatch batch{.logits = logits, .targets = labels, .classes = 3};
    for (const char* kind : {"cross_entropy", "mse"}) {
      try {
        compute_loss({.kind = kind}, batch);
        ADD_FAILURE() << "accepted " << bad;
      } catch (const UserError& error) {
        EXPECT_THAT(error.what(),
                    testing::HasSubstr(fmt::format("sample 1 of the batch has the label {}", bad)));
        EXPECT_THAT(error.what(), testing::HasSubstr("3 classes"));
      }
    }
  }
}

TEST(Loss, RefusesNonsense) {
  EXPECT_NO_THROW(check_loss({}));
  EXPECT_THROW(check_loss({.kind = "cross-entropy"}), UserError);
  EXPECT_THROW(check_loss({.label_smoothing = 1.5}), UserError);
  EXPECT_THROW(check_loss({.label_smoothing = std::nan("")}), UserError);
  EXPECT_THROW(check_loss({.kind = "mse", .label_smoothing = 0.1}), UserError);
  const Floats logits(6), labels(2);
  Floats diff(5);
  EXPECT_THROW(cross_entropy({.logits = logits, .targets = labels, .classes = 4}, 0), Failure);
  EXPECT_THROW(cross_entropy({.logits = logits, .targets = labels, .classes = 3}, 0, diff),
               Failure);
  EXPECT_THROW(cross_entropy({.logits = logits, .targets = labels, .classes = 2}, 0), Failure);
}

TEST(LossOfPixels, NamesTheWrongLabel) {
  const std::vector<float> logits(2 * 3 * 4, 0.5F);
  const std::vector<float> targets{0, 1, 2, -1, 0, 0, 3, 0};
  try {
    cross_entropy({.logits = logits, .targets = targets, .classes = 3, .pixels = 4}, 0);
    FAIL();
  } catch (const UserError& error) {
    EXPECT_STREQ(
        error.what(),
        "pixel 2 of sample 1 of the batch has the label 3, but the network tells 3 classes "
        "(0 to 2)");
  }
}

TEST(LossOfPixels, IsZeroWhereNoneCounts) {
  const std::vector<float> logits(6, 0.5F);
  const std::vector<float> targets{-1, -1};
  std::vector<float> diff(6, 7.0F);
  const LossResult result =
      cross_entropy({.logits = logits, .targets = targets, .classes = 3, .pixels = 2}, 0.1, diff);
  EXPECT_EQ(result.sum, 0);
  EXPECT_EQ(result.counted, 0);
  EXPECT_EQ(diff, std::vector<float>(6, 0.0F));
}

TEST(ClassAreas, GiveTheMeanIntersectionOverUnion) {
  // Two images of three pixels; answers 0 1 1 and 2 0 0, labels 0 1 0 and 2 - 1; class 3 is
  // nowhere.
  const std::vector<float> logits{5, 0, 0, 1, 9, 9, 0, 1, 2, 0, 0, 0,  // [4, 3]
                                  0, 5, 5, 1, 1, 1, 9, 2, 2, 0, 0, 0};
  const std::vector<float> targets{0, 1, 0, 2, -1, 1};
  const LossBatch batch{.logits = logits, .targets = targets, .classes = 4, .pixels = 3};
  ClassAreas areas(4);
  areas.add(batch);
  EXPECT_EQ(areas.labelled, (std::vector<std::int64_t>{2, 2, 1, 0}));
  EXPECT_EQ(areas.answered, (std::vector<std::int64_t>{2, 2, 1, 0}));
  EXPECT_EQ(areas.both, (std::vector<std::int64_t>{1, 1, 1, 0}));
  EXPECT_NEAR(areas.mean_iou(), (1.0 / 3 + 1.0 / 3 + 1) / 3, 1e-15);
  EXPECT_EQ(cross_entropy(batch, 0).correct, 3);
}

TEST(LabelsWithin, CountsTheLargestAndTheFirstOfEquals) {
  const float nan = std::nanf("");
  const std::vector<float> logits{6, 5, 4, 3, 2, 1,  //
                                  1, 1, 1, 1, 1, 1,  //
                                  1, 2, 3, 4, 5, nan};
  const auto within = [&](std::vector<float> labels, int count) {
    return labels_within({.logits = logits, .targets = labels, .classes = 6}, count);
  };
  EXPECT_EQ(within({0, 0, 4}, 1), 2);
  EXPECT_EQ(within({4, 4, 4}, 5), 2);
  EXPECT_EQ(within({5, 5, 4}, 5), 0);
  EXPECT_EQ(within({1, 1, 1}, 1), 0);
}

}  // namespace
}  // namespace plait::optim
