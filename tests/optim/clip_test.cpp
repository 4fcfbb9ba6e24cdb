// The gradient norm: any division into arrays and threads, values beyond float, and the factor.
#include "optim/clip.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "base/rng.hpp"

namespace plait::optim {
namespace {

TEST(Clip, NormOverSpansWithTheSameBitsForAnyThreads) {
  Rng rng(5, Purpose::test);
  std::vector<std::vector<float>> gradients{std::vector<float>(100'003), {}, std::vector<float>(7)};
  double exact = 0;
  for (auto& gradient : gradients) {
    for (float& g : gradient) {
      g = rng.normal();
      exact += static_cast<double>(g) * g;
    }
  }
  const std::vector<std::span<const float>> spans(gradients.begin(), gradients.end());
  const double one = gradient_norm(spans, 1);
  EXPECT_NEAR(one, std::sqrt(exact), 1e-12 * one);
  for (const int threads : {2, 3, 8}) EXPECT_EQ(one, gradient_norm(spans, threads));
}

TEST(Clip, SquaresBeyondFloatAreSummed) {
  const std::vector<float> huge(4, 1e30f);
  const std::vector<std::span<const float>> spans{huge};
  EXPECT_NEAR(gradient_norm(spans), 2e30, 1e24);
  EXPECT_EQ(gradient_norm({}), 0);
}

TEST(Clip, Factor) {
  EXPECT_DOUBLE_EQ(clip_factor(4, 1), 1 / 4.000001);
  EXPECT_EQ(clip_factor(0.5, 1), 1);
  EXPECT_EQ(clip_factor(0, 1), 1);
  EXPECT_LT(clip_factor(1, 1), 1);
  EXPECT_TRUE(std::isnan(clip_factor(std::nan(""), 1)));
  EXPECT_EQ(clip_factor(std::numeric_limits<double>::infinity(), 1), 0);
}

}  // namespace
}  // namespace plait::optim
