// What recorded values do not show: thread counts, padding, odd sizes, refusals.
#include "optim/optimizer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "base/error.hpp"
#include "base/rng.hpp"

namespace plait::optim {
namespace {

using Floats = std::vector<float>;

std::vector<OptimizerSpec> all_specs() {
  return {{.kind = "sgd"},
          {.kind = "sgd", .momentum = 0.9},
          {.kind = "sgd", .momentum = 0.9, .nesterov = true},
          {.kind = "adam"},
          {.kind = "adamw"}};
}

Floats random(std::size_t count, std::uint64_t stream) {
  Rng rng(7, Purpose::test, stream);
  Floats values(count);
  for (float& value : values) value = rng.normal();
  return values;
}

/// Three steps; returns weights and states behind each other.
Floats three_steps(const OptimizerSpec& spec, std::size_t count, int threads) {
  const auto optimizer = make_optimizer(spec);
  Floats weights = random(count, 1);
  Floats first(count), second(count);
  for (std::int64_t step = 1; step <= 3; ++step) {
    const Floats gradient = random(count, 10 + static_cast<std::uint64_t>(step));
    optimizer->update({.weights = weights,
                       .result = weights,
                       .gradient = gradient,
                       .state = {std::span(first), std::span(second)},
                       .learning_rate = 0.01,
                       .weight_decay = 0.1,
                       .step = step,
                       .threads = threads});
  }
  weights.insert(weights.end(), first.begin(), first.end());
  weights.insert(weights.end(), second.begin(), second.end());
  return weights;
}

TEST(Optimizer, BitsDoNotDependOnThreadsNorOnNeighbours) {
  for (const OptimizerSpec& spec : all_specs()) {
    constexpr std::size_t count = 100'003;
    const Floats one = three_steps(spec, count, 1);
    for (const int threads : {2, 3, 5}) {
      EXPECT_EQ(one, three_steps(spec, count, threads)) << spec.kind << ' ' << threads;
    }
    // An element at the ragged end of a short array gets what it gets inside a long one.
    for (const std::size_t small : {1u, 3u, 7u, 18u}) {
      const Floats few = three_steps(spec, small, 2);
      for (std::size_t i = 0; i < small; ++i) EXPECT_EQ(few[i], one[i]) << spec.kind << ' ' << i;
    }
  }
}

TEST(Optimizer, PaddingStaysZero) {
  for (const OptimizerSpec& spec : all_specs()) {
    const auto optimizer = make_optimizer(spec);
    Floats weights(40), gradient(40), first(40), second(40);
    for (std::size_t i = 0; i < 40; i += 2) weights[i] = gradient[i] = 1;
    for (std::int64_t step = 1; step <= 5; ++step) {
      optimizer->update({.weights = weights,
                         .result = weights,
                         .gradient = gradient,
                         .state = {std::span(first), std::span(second)},
                         .learning_rate = 0.1,
                         .weight_decay = 0.1,
                         .step = step});
    }
    for (std::size_t i = 1; i < 40; i += 2) {
      EXPECT_EQ(weights[i], 0) << spec.kind;
      EXPECT_EQ(first[i], 0) << spec.kind;
      EXPECT_EQ(second[i], 0) << spec.kind;
    }
    EXPECT_LT(weights[0], 1) << spec.kind;
  }
}

TEST(Optimizer, FirstStepOfMomentumTakesNothingFromTheBuffer) {
  const auto optimizer = make_optimizer({.kind = "sgd", .momentum = 0.9});
  Floats weights{1}, buffer{std::numeric_limits<float>::quiet_NaN()};
  const Floats gradient{2};
  optimizer->update({.weights = weights,
                     .result = weights,
                     .gradient = gradient,
                     .state = {std::span(buffer), std::span<float>()},
                     .learning_rate = 0.25});
  EXPECT_EQ(weights[0], 0.5f);
  EXPECT_EQ(buffer[0], 2);
}

TEST(Optimizer, StatesAndNames) {
  const std::vector<int> states{0, 1, 1, 2, 2};
  const std::vector<std::string> names{"sgd", "sgd", "sgd", "adam", "adamw"};
  for (std::size_t i = 0; i < states.size(); ++i) {
    const auto optimizer = make_optimizer(all_specs()[i]);
    EXPECT_EQ(optimizer->state_count(), states[i]);
    EXPECT_EQ(optimizer->name(), names[i]);
  }
}

void expect_refused(const OptimizerSpec& spec, const std::string& part) {
  try {
    make_optimizer(spec);
    ADD_FAILURE() << "accepted; wanted " << part;
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr(part));
  }
}

TEST(Optimizer, RefusesNonsense) {
  expect_refused({.kind = "adma"}, "did you mean 'adam'");
  expect_refused({.kind = "sgd", .momentum = 1}, "momentum is 1");
  expect_refused({.kind = "sgd", .momentum = -0.5}, "momentum is -0.5");
  expect_refused({.kind = "sgd", .nesterov = true}, "nesterov");
  expect_refused({.kind = "adam", .beta1 = 1}, "beta1 is 1");
  expect_refused({.kind = "adam", .beta2 = std::numeric_limits<double>::quiet_NaN()},
                 "beta2 is nan");
  expect_refused({.kind = "adamw", .epsilon = 0}, "epsilon is 0");
  Floats weights(3), gradient(2);
  EXPECT_THROW(make_optimizer({})->update(
                   {.weights = weights, .result = weights, .gradient = gradient, .state = {}}),
               Failure);
}

}  // namespace
}  // namespace plait::optim
