// Gradients that are exactly zero stay so, whichever kernel computes them: an optimizer that
// divides by their size (Adam) would turn rounding errors into steps of full length.
#include <gtest/gtest.h>

#include "kernels/layer_testing.hpp"

namespace plait::kernels::layer_testing {
namespace {

struct ZeroCase {
  std::int64_t kernel, padding, height, width;
};

std::ostream& operator<<(std::ostream& out, const ZeroCase& one) {
  return out << one.kernel << "x" << one.kernel << "_padding_" << one.padding << "_image_"
             << one.height << "x" << one.width;
}

class ExactZeros : public testing::TestWithParam<ZeroCase> {
 protected:
  static constexpr std::int64_t kSamples = 12, kIn = 24, kOut = 16;

  ExactZeros() {
    for (Rig* rig : {&fast_, &slow_}) rig->set_random_parameters(5);
    src_ = random_floats(count(shape()), 1);
  }

  static tensor::Shape shape() { return {kSamples, kIn, GetParam().height, GetParam().width}; }
  static LayerRequest request(tensor::Layout layout) {
    const auto& [kernel, padding, height, width] = GetParam();
    return {.spec = ops::Convolution{.out_channels = kOut,
                                     .kernel = {kernel, kernel},
                                     .padding = {padding, padding}},
            .srcs = {{.shape = shape(), .layout = layout}},
            .threads = 2,
            .name = "zeros"};
  }

  /// The weight gradients of both; every zero of the reference must be one of the fast kernel.
  void expect_zeros(const Floats& g, bool some) {
    const Floats expected = slow_.gradients(g)[0];
    const Floats actual = fast_.gradients(g)[0];
    expect_close(actual, expected, 5e-5, "gradient");
    std::size_t zeros = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      if (expected[i] != 0) continue;
      ++zeros;
      ASSERT_EQ(actual[i], 0) << "weight " << i;
    }
    EXPECT_TRUE(zeros > 0 || !some);
  }

  Rig fast_{request(tensor::Layout::blocked8), Backend::onednn};
  Rig slow_{request(tensor::Layout::plain), Backend::reference};
  Floats src_;
};

TEST_P(ExactZeros, TapsThatOnlyMeetPaddingHaveNoGradient) {
  const std::size_t size = slow_.forward({src_}).size();
  fast_.forward({src_});
  expect_zeros(random_floats(size, 2), false);
}

TEST_P(ExactZeros, ChannelsOfZerosHaveNoGradient) {
  const auto pixels = static_cast<std::size_t>(GetParam().height * GetParam().width);
  for (std::size_t i = 0; i < src_.size(); ++i) {
    if (i / pixels % kIn == 3) src_[i] = 0;
  }
  const std::size_t size = slow_.forward({src_}).size();
  fast_.forward({src_});
  Floats g = random_floats(size, 2);
  const std::size_t dst_pixels = size / static_cast<std::size_t>(kSamples * kOut);
  for (std::size_t i = 0; i < size; ++i) {
    if (i / dst_pixels % kOut == 5) g[i] = 0;
  }
  expect_zeros(g, true);
}

std::vector<ZeroCase> cases() {
  std::vector<ZeroCase> all;
  for (const std::int64_t kernel : {3, 5}) {
    for (std::int64_t padding = kernel / 2; padding < kernel; ++padding) {
      for (const auto& [height, width] :
           std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 1},
                                                              {1, 2},
                                                              {2, 1},
                                                              {2, 2},
                                                              {1, 9},
                                                              {9, 1},
                                                              {2, 12},
                                                              {12, 2},
                                                              {3, 3},
                                                              {2, 4},
                                                              {13, 12}}) {
        all.push_back({kernel, padding, height, width});
      }
    }
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Shapes, ExactZeros, testing::ValuesIn(cases()),
                         [](const auto& one) { return testing::PrintToString(one.param); });

}  // namespace
}  // namespace plait::kernels::layer_testing
