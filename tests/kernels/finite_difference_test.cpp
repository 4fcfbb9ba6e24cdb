// backward_data and backward_weights against central differences of forward, for both back ends.
// With a random direction v and J v measured, g = J v (uneven scale) must give <backward(g), v> =
// <g, J v>. Inputs stay away from the kinks of ReLU and max pooling.
#include <gtest/gtest.h>

#include <tuple>

#include "kernels/layer_cases.hpp"
#include "kernels/layer_testing.hpp"

namespace plait::kernels::layer_testing {
namespace {

constexpr double kStep = 1e-2;
constexpr double kTolerance = 1e-3;  // truncation h^2 f''' / 6 and float rounding / h

/// Magnitudes in [0.5, 1], neighbours of opposite sign: no value within a step of 0, and every
/// channel of a BatchNorm has values well on both sides of its mean.
Floats two_sided(const tensor::Shape& shape, std::uint64_t stream) {
  Floats values = random_floats(count(shape), stream);
  const std::size_t channels = static_cast<std::size_t>(shape[1]);
  const std::size_t pixels = count(shape) / static_cast<std::size_t>(shape[0]) / channels;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t n = i / pixels / channels;
    const float sign = (n + i % pixels) % 2 == 0 ? 1.0F : -1.0F;
    values[i] = sign * (0.75F + 0.25F * values[i]);
  }
  return values;
}

/// Every image a permutation of multiples of 0.05: the winner of a window wins by more than a step.
Floats distinct(const tensor::Shape& shape, std::uint64_t stream) {
  Floats values(count(shape));
  const auto pixels = static_cast<std::size_t>(shape[2] * shape[3]);
  Rng rng(1, Purpose::test, stream);
  for (std::size_t begin = 0; begin < values.size(); begin += pixels) {
    for (std::size_t i = 0; i < pixels; ++i) {
      const std::size_t j = rng.below(static_cast<std::uint32_t>(i + 1));
      values[begin + i] = values[begin + j];
      values[begin + j] = 0.05F * (static_cast<float>(i) - 0.5F * static_cast<float>(pixels));
    }
  }
  return values;
}

/// Two-sided, and nothing within a few steps of the ceiling.
Floats away_from(double ceiling, Floats values) {
  for (float& x : values) {
    const double above = x - ceiling;
    if (std::abs(above) < 3 * kStep) {
      x = static_cast<float>(ceiling + (above < 0 ? -3 : 3) * kStep);
    }
  }
  return values;
}

Floats input_of(const LayerCase& layer_case) {
  const auto* activation = std::get_if<ops::Activation>(&layer_case.spec);
  if (activation != nullptr && activation->kind == ops::ActivationKind::clip) {
    return away_from(activation->ceiling, two_sided(layer_case.src, 50));
  }
  if (std::holds_alternative<ops::LayerNorm>(layer_case.spec)) {  // rows with both signs
    return random_floats(count(layer_case.src), 50);
  }
  const auto* pool = std::get_if<ops::Pool>(&layer_case.spec);
  const bool max = pool != nullptr && pool->kind == ops::PoolKind::max;
  return max ? distinct(layer_case.src, 50) : two_sided(layer_case.src, 50);
}

class FiniteDifference : public testing::TestWithParam<std::tuple<LayerCase, Backend>> {
 protected:
  FiniteDifference()
      : rig_(request_of(std::get<0>(GetParam()), layout(), std::get<1>(GetParam())),
             std::get<1>(GetParam())) {
    rig_.set_random_parameters(1);
    rig_.options.updates_state = false;
    srcs_.push_back(input_of(std::get<0>(GetParam())));
    for (std::size_t k = 1; k < rig_.request().srcs.size(); ++k) {
      srcs_.push_back(random_floats(count(rig_.request().srcs[k].shape), 60));
    }
  }

  static tensor::Layout layout() {
    const auto& [one, backend] = GetParam();
    const bool fast = backend == Backend::onednn;
    const bool panels = std::ranges::any_of(
        panel_cases(), [&](const LayerCase& other) { return other.name == one.name; });
    return fast && panels ? tensor::Layout::panels : tensor::Layout::plain;
  }

  /// J v from the results on both sides.
  static Floats slope(const Floats& ahead, const Floats& behind) {
    Floats result(ahead.size());
    for (std::size_t i = 0; i < result.size(); ++i) {
      result[i] = static_cast<float>((static_cast<double>(ahead[i]) - behind[i]) / (2 * kStep));
    }
    return result;
  }

  static Floats uneven(const Floats& slope, std::uint64_t stream) {
    Floats g = random_floats(slope.size(), stream);
    for (std::size_t i = 0; i < g.size(); ++i) g[i] = slope[i] * (1.0F + 0.7F * g[i]);
    return g;
  }

  Rig rig_;
  std::vector<Floats> srcs_;
};

TEST_P(FiniteDifference, OfTheSource) {
  for (std::uint64_t trial = 0; trial < 3; ++trial) {
    const Floats direction = random_floats(srcs_[0].size(), 100 + trial);
    std::vector<Floats> srcs = srcs_;
    srcs[0] = moved(srcs_[0], direction, kStep);
    const Floats ahead = rig_.forward(srcs);
    srcs[0] = moved(srcs_[0], direction, -kStep);
    const Floats along = slope(ahead, rig_.forward(srcs));
    const Floats g = uneven(along, 200 + trial);
    rig_.forward(srcs_);
    const double expected = dot(g, along);
    ASSERT_GT(expected, 0);
    EXPECT_NEAR(dot(rig_.backward_data(g), direction), expected, kTolerance * expected);
  }
}

TEST_P(FiniteDifference, OfEachParameter) {
  const std::vector<ParameterSlot> slots = rig_.layer().parameter_slots();
  std::size_t trainable = 0;
  for (std::size_t p = 0; p < slots.size(); ++p) {
    if (!slots[p].spec.trainable) continue;
    const Floats here = rig_.parameter(p);
    const Floats direction = random_floats(here.size(), 300 + p);
    rig_.set_parameter(p, moved(here, direction, kStep));
    const Floats ahead = rig_.forward(srcs_);
    rig_.set_parameter(p, moved(here, direction, -kStep));
    const Floats along = slope(ahead, rig_.forward(srcs_));
    rig_.set_parameter(p, here);
    const Floats g = uneven(along, 400 + p);
    rig_.forward(srcs_);
    rig_.backward_data(g);
    const double expected = dot(g, along);
    ASSERT_GT(expected, 0);
    EXPECT_NEAR(dot(rig_.gradients(g)[trainable++], direction), expected, kTolerance * expected)
        << slots[p].spec.name;
  }
}

std::vector<LayerCase> cases_with_backward() {
  std::vector<LayerCase> cases = layer_cases();
  for (LayerCase& one : panel_cases()) cases.push_back(std::move(one));
  // The gradient of a fused activation is another layer's.
  std::erase_if(cases, [](const LayerCase& one) {
    return std::holds_alternative<ops::Add>(one.spec) || one.activation;
  });
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Layers, FiniteDifference,
                         testing::Combine(testing::ValuesIn(cases_with_backward()),
                                          testing::Values(Backend::reference, Backend::onednn)),
                         [](const auto& test) {
                           return std::get<0>(test.param).name + "_" +
                                  to_string(std::get<1>(test.param));
                         });

}  // namespace
}  // namespace plait::kernels::layer_testing
