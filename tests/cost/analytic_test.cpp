// The analytic model against sums by hand, and task_seconds over any model.
#include "cost/analytic.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cost/cost_testing.hpp"

namespace plait::cost {
namespace {

using testing::HasSubstr;

TEST(AnalyticCost, IsArithmeticWhereThatIsSlower) {
  // 1 flop/s at half efficiency; memory is free.
  const auto cost = make_analytic_cost(
      two_blocks(), {.flops_per_second = 1, .efficiency = 0.5, .memory_bytes_per_second = 1e12});
  const BlockSeconds a = cost->block(0, 10);
  EXPECT_DOUBLE_EQ(a.forward, 2 * 32 * 10 / 0.5);
  EXPECT_DOUBLE_EQ(a.backward_weights, 2 * 32 * 10 / 0.5);
  EXPECT_LT(a.backward_data, 1e-6);  // nobody wants the gradient of the input
}

TEST(AnalyticCost, IsMemoryWhereThatIsSlower) {
  const auto cost = make_analytic_cost(
      two_blocks(), {.flops_per_second = 1e18, .efficiency = 1, .memory_bytes_per_second = 4});
  // At 4 bytes/s the seconds are the elements.
  const BlockSeconds a = cost->block(0, 10);
  EXPECT_DOUBLE_EQ(a.forward, 10 * (4 + 8) + 32);
  EXPECT_DOUBLE_EQ(a.backward_data, 10 * 8);
  EXPECT_DOUBLE_EQ(a.backward_weights, 10 * (8 + 4) + 32);
  EXPECT_DOUBLE_EQ(a.update, 32 * 20 / 4.0);
  const BlockSeconds b = cost->block(1, 10);
  EXPECT_DOUBLE_EQ(b.forward, 10 * (8 + 5 + 2));
  EXPECT_DOUBLE_EQ(b.backward_data, 10 * (2 + 5 + 8));
  EXPECT_EQ(b.backward_weights, 0);
  EXPECT_EQ(b.update, 0);
  EXPECT_DOUBLE_EQ(cost->loss(10), 10 * 4 * 2);
  EXPECT_DOUBLE_EQ(cost->load(10), 10 * 2 * 4);
  EXPECT_DOUBLE_EQ(cost->sum(40, 3), 40);  // three arrays of ten read, one written
  EXPECT_DOUBLE_EQ(cost->contention(8), 1);
}

TEST(AnalyticCost, NoSamplesTakeNoTime) {
  const auto cost = make_analytic_cost(two_blocks());
  EXPECT_EQ(cost->block(0, 0).forward, 0);
  EXPECT_EQ(cost->loss(0), 0);
}

TEST(AnalyticCost, RefusesRatesThatAreNone) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double rate : {0.0, -1.0, nan, std::numeric_limits<double>::infinity()}) {
    const auto with = [&](double AnalyticRates::*field) {
      AnalyticRates rates;
      rates.*field = rate;
      return refusal([&] { make_analytic_cost(two_blocks(), rates); });
    };
    EXPECT_THAT(with(&AnalyticRates::flops_per_second), HasSubstr("flops_per_second"));
    EXPECT_THAT(with(&AnalyticRates::efficiency), HasSubstr("efficiency"));
    EXPECT_THAT(with(&AnalyticRates::memory_bytes_per_second),
                HasSubstr("memory_bytes_per_second"));
    EXPECT_THAT(with(&AnalyticRates::update_bytes_per_parameter),
                HasSubstr("update_bytes_per_parameter"));
  }
}

/// Every answer another number, twice as slow when two are busy.
class Numbers final : public CostModel {
 public:
  BlockSeconds block(int block, std::int64_t samples) const override {
    const double n = static_cast<double>(samples) + 1000 * block;
    return {n + 0.1, n + 0.2, n + 0.3, n + 0.4};
  }
  double loss(std::int64_t samples) const override { return static_cast<double>(samples) + 0.5; }
  double load(std::int64_t samples) const override { return static_cast<double>(samples) + 0.6; }
  double sum(std::int64_t bytes, int arrays) const override {
    return static_cast<double>(bytes) + 0.01 * arrays;
  }
  double contention(int busy) const override { return busy; }
  std::string source() const override { return "numbers"; }
};

TEST(TaskSeconds, AskTheModelForTheSamplesOfTheTask) {
  plan::Plan plan;
  plan.network = two_blocks();
  plan.batch = 10;
  plan.programs.resize(2);
  plan.programs[0].tasks = {{.what = plan::Forward{.block = 0}}, {.what = plan::Clip{}}};
  plan.programs[1].tasks = {{.what = plan::Clip{}}, {.what = plan::Update{.block = 0}}};
  const Numbers cost;
  const plan::Samples part = plan::part_of(1, 4);  // samples 2, 3, 4
  const auto seconds = [&](const plan::What& what, int busy = 1) {
    return task_seconds(cost, plan, {.what = what}, busy);
  };
  EXPECT_DOUBLE_EQ(seconds(plan::Forward{.block = 1, .samples = part}), 1003.1);
  EXPECT_DOUBLE_EQ(seconds(plan::BackwardData{.block = 1, .samples = part}), 1003.2);
  EXPECT_DOUBLE_EQ(seconds(plan::BackwardWeights{.block = 1, .samples = part}), 1003.3);
  EXPECT_DOUBLE_EQ(seconds(plan::Update{.block = 1}), 1010.4);
  EXPECT_DOUBLE_EQ(seconds(plan::Loss{part}), 3.5);
  EXPECT_DOUBLE_EQ(seconds(plan::Load{part}), 3.6);
  EXPECT_DOUBLE_EQ(seconds(plan::Clip{}), 4 * 32 + 0.01);
  EXPECT_DOUBLE_EQ(seconds(plan::Forward{.block = 1, .samples = part}, 2), 2 * 1003.1);
  for (const plan::What& what :
       {plan::What(plan::Send{}), plan::What(plan::Receive{}), plan::What(plan::Reduce{})}) {
    EXPECT_EQ(seconds(what), 0);
  }
  EXPECT_DOUBLE_EQ(clip_seconds(cost, plan, 0, 2), 2 * 0.01);  // updates nothing
  EXPECT_DOUBLE_EQ(clip_seconds(cost, plan, 1, 2), 2 * (4 * 32 + 0.01));
}

}  // namespace
}  // namespace plait::cost
