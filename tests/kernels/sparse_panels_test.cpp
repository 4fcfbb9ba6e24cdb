// Panels and the gradient of activations.
#include <gtest/gtest.h>

#include <limits>

#include "kernels/sparse_testing.hpp"

namespace plait::kernels::sparse {
namespace {

TEST(SparseActivation, GradientFollowsTheFormula) {
  constexpr std::int64_t size = 48 * 1024;
  Buffer dst(size), diff_dst(size);
  dst.fill(1), diff_dst.fill(2);
  dst[0] = 0, dst[1] = 0.5F, dst[2] = -0.0F, dst[3] = std::numeric_limits<float>::infinity();
  for (const Activation& activation : kActivations) {
    const Buffer delta(size), in_place(size);
    std::copy_n(diff_dst.data(), size, in_place.data());
    activation_gradient(activation, dst.data(), diff_dst.data(), delta.data(), size, 2);
    activation_gradient(activation, dst.data(), in_place.data(), in_place.data(), size, 3);
    EXPECT_TRUE(delta.same_bits(in_place));
    for (std::int64_t i = 0; i < size; ++i) {
      const double y = dst[i];
      const bool open =
          y > 0 && (activation.kind == ActivationKind::relu || y < activation.ceiling);
      const double slope = activation.kind == ActivationKind::none   ? 1
                           : activation.kind == ActivationKind::tanh ? 1 - y * y
                                                                     : open;
      if (std::isinf(y) && activation.kind == ActivationKind::tanh) continue;
      expect_near(slope * diff_dst[i], delta[i]);
    }
  }
}

TEST(SparsePanels, AreFewAndEquallyWide) {
  EXPECT_EQ(panels_for(1), (Panels{1, 1, 16}));
  EXPECT_EQ(panels_for(40), (Panels{40, 1, 48}));
  EXPECT_EQ(panels_for(64), (Panels{64, 1, 64}));
  EXPECT_EQ(panels_for(65), (Panels{65, 2, 48}));
  EXPECT_EQ(panels_for(130), (Panels{130, 3, 48}));
  EXPECT_EQ(panels_for(0), Panels{});
}

TEST(SparsePanels, ComeFromPlainTensorsAndGoBack) {
  for (const std::int64_t samples : {1, 5, 16, 40, 64, 100, 129}) {
    for (const std::int64_t features : {1, 3, 4, 16, 37, 50}) {
      const Panels panels = panels_for(samples);
      Buffer plain(samples * features);
      plain.fill(1);
      const Buffer turned(panels.floats(features)), back(samples * features);
      to_panels(panels, features, plain.data(), turned.data(), 2);
      from_panels(panels, features, turned.data(), back.data(), 2);
      EXPECT_TRUE(plain.same_bits(back)) << samples << " x " << features;
      for (std::int64_t n = 0; n < panels.count * panels.width; ++n) {
        for (std::int64_t f = 0; f < features; ++f) {
          const float expected = n < samples ? plain[n * features + f] : 0.0F;
          ASSERT_EQ(at(panels, features, turned, n, f), expected);
        }
      }
    }
  }
}

}  // namespace
}  // namespace plait::kernels::sparse
