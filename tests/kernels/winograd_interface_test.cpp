// What kernels/winograd promises beside being right on one processor: every instruction set, zero
// channels, which shapes it recommends and refuses.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <stdexcept>

#include "hwy/targets.h"
#include "kernels/winograd/convolution.hpp"
#include "kernels/winograd_testing.hpp"

namespace plait::kernels::winograd {
namespace {

// Every instruction set that this processor has, not just the best one.
class WinogradTargets : public testing::TestWithParam<ConvolutionShape> {};

TEST_P(WinogradTargets, AgreeWithEachOther) {
  const ConvolutionShape& s = GetParam();
  Buffer src(src_of(s).size()), diff_dst(dst_of(s).size()), oihw(weights_size(s));
  Buffer weights(weights_size(s));
  src.fill_normal(1);
  diff_dst.fill_normal(2);
  oihw.fill_normal(3);
  pack_weights(s, oihw.data(), weights.data());
  const Reference expected(s, src, oihw, diff_dst);
  const Convolution convolution(s, 2);
  for (const auto target : hwy::SupportedAndGeneratedTargets()) {
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    Buffer scratch(convolution.scratch_bytes() / sizeof(float));
    Buffer dst(diff_dst.size()), diff_src(src.size());
    Buffer diff_weights(weights_size(s)), diff_oihw(weights_size(s));
    convolution.forward(src.data(), weights.data(), nullptr, dst.data(), scratch.data());
    convolution.backward_data(diff_dst.data(), weights.data(), diff_src.data(), scratch.data());
    convolution.backward_weights(src.data(), diff_dst.data(), diff_weights.data(), nullptr,
                                 scratch.data());
    unpack_weights(s, diff_weights.data(), diff_oihw.data());
    EXPECT_LT(error(expected.dst, dst), 1e-5);
    EXPECT_LT(error(expected.diff_src, diff_src), 1e-5);
    EXPECT_LT(error(expected.diff_weights, diff_oihw), 1e-5);
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

INSTANTIATE_TEST_SUITE_P(Kernels, WinogradTargets,
                         testing::Values(ConvolutionShape{3, 16, 24, 5, 7},
                                         ConvolutionShape{3, 16, 24, 8, 7, 5, 1}));

// Channels added to make multiples of 8: their weights and values are zero.
TEST(WinogradConvolution, LeavesZeroChannelsZero) {
  for (const ConvolutionShape& s : {ConvolutionShape{4, 24, 56, 12, 12, 5, 0}, {4, 24, 56, 6, 7}}) {
    constexpr int ins = 20, outs = 50;  // the real ones
    Buffer src(src_of(s).size()), diff_dst(dst_of(s).size()), oihw(weights_size(s));
    Buffer weights(weights_size(s)), bias(56);
    src.fill_normal(1);
    diff_dst.fill_normal(2);
    oihw.fill_normal(3);
    bias.fill_normal(4);
    // Calls f(index) for the added channels from `real` on of a tensor, respectively of weights.
    const auto each_added = [](const Images& images, int real, auto f) {
      for (int n = 0; n < images.batch; ++n) {
        for (int c = real; c < images.channels; ++c) {
          for (int y = 0; y < images.height; ++y) {
            for (int x = 0; x < images.width; ++x) f(images.at(n, c, y, x));
          }
        }
      }
    };
    const auto each_added_weight = [&](auto f) {
      for (int o = 0; o < s.out_channels; ++o) {
        for (int i = 0; i < s.in_channels; ++i) {
          if (o < outs && i < ins) continue;
          for (int ky = 0; ky < s.kernel; ++ky) {
            for (int kx = 0; kx < s.kernel; ++kx) f(weight_at(s, o, i, ky, kx));
          }
        }
      }
    };
    each_added(src_of(s), ins, [&](std::size_t at) { src[at] = 0; });
    each_added(dst_of(s), outs, [&](std::size_t at) { diff_dst[at] = 0; });
    each_added_weight([&](std::size_t at) { oihw[at] = 0; });
    for (std::size_t o = outs; o < 56; ++o) bias[o] = 0;
    pack_weights(s, oihw.data(), weights.data());

    const Convolution convolution(s, 2);
    Buffer scratch(convolution.scratch_bytes() / sizeof(float));
    Buffer dst(diff_dst.size()), diff_src(src.size()), diff_weights(oihw.size());
    Buffer diff_oihw(oihw.size()), diff_bias(56);
    convolution.forward(src.data(), weights.data(), bias.data(), dst.data(), scratch.data());
    convolution.backward_data(diff_dst.data(), weights.data(), diff_src.data(), scratch.data());
    convolution.backward_weights(src.data(), diff_dst.data(), diff_weights.data(), diff_bias.data(),
                                 scratch.data());
    unpack_weights(s, diff_weights.data(), diff_oihw.data());
    std::size_t wrong = 0;
    each_added(src_of(s), ins, [&](std::size_t at) { wrong += diff_src[at] != 0; });
    each_added(dst_of(s), outs, [&](std::size_t at) { wrong += dst[at] != 0; });
    each_added_weight([&](std::size_t at) { wrong += diff_oihw[at] != 0; });
    for (std::size_t o = outs; o < 56; ++o) wrong += diff_bias[o] != 0;
    EXPECT_EQ(wrong, 0u);
  }
}

TEST(WinogradConvolution, IsWorthwhileForCommonShapesOnly) {
  for (const Pass pass : {Pass::forward, Pass::backward_data, Pass::backward_weights}) {
    EXPECT_TRUE(worthwhile({64, 64, 64, 32, 32}, pass));
    EXPECT_TRUE(worthwhile({64, 512, 512, 2, 2}, pass));
    EXPECT_TRUE(worthwhile({32, 16, 16, 32, 32}, pass));
    EXPECT_FALSE(worthwhile({64, 512, 512, 1, 1}, pass));
    EXPECT_FALSE(worthwhile({1, 512, 512, 4, 4}, pass));
    EXPECT_TRUE(worthwhile({64, 24, 56, 12, 12, 5, 0}, pass));
    EXPECT_TRUE(worthwhile({1, 64, 64, 14, 14, 5, 2}, pass));
    EXPECT_FALSE(worthwhile({1, 64, 64, 8, 8, 5, 0}, pass));
    EXPECT_FALSE(worthwhile({64, 64, 64, 5, 5, 5, 0}, pass));
    EXPECT_EQ(worthwhile({64, 64, 64, 2, 2, 5, 2}, pass), pass == Pass::backward_weights);
  }
}

TEST(WinogradWeights, UnpackUndoesPack) {
  for (const ConvolutionShape& s : {ConvolutionShape{1, 16, 24, 4, 4}, {1, 16, 24, 4, 4, 5, 2}}) {
    Buffer oihw(weights_size(s)), packed(weights_size(s)), back(weights_size(s));
    oihw.fill_normal(5);
    pack_weights(s, oihw.data(), packed.data());
    unpack_weights(s, packed.data(), back.data());
    EXPECT_EQ(std::memcmp(oihw.data(), back.data(), oihw.bytes()), 0);
  }
}

TEST(WinogradConvolution, RefusesWhatItCannotDo) {
  EXPECT_THROW(Convolution({1, 3, 8, 4, 4}, 1), std::invalid_argument);
  EXPECT_THROW(Convolution({1, 8, 12, 4, 4}, 1), std::invalid_argument);
  EXPECT_THROW(Convolution({0, 8, 8, 4, 4}, 1), std::invalid_argument);
  EXPECT_THROW(Convolution({1, 8, 8, 4, 4}, 0), std::invalid_argument);
  EXPECT_THROW(Convolution({1, 8, 8, 4, 4}, 1, Tiling::image2x2), std::invalid_argument);
  EXPECT_THROW(Convolution({1, 8, 8, 2, 2, 3, 0}, 1), std::invalid_argument);
  EXPECT_THROW(Convolution({1, 8, 8, 2, 2, 3, 2}, 1, Tiling::image2x2), std::invalid_argument);
  EXPECT_THROW(Convolution({1, 8, 8, 8, 8, 4, 1}, 1), std::invalid_argument);
  EXPECT_THROW(Convolution({1, 8, 8, 8, 8, 5, 5}, 1), std::invalid_argument);
  EXPECT_THROW(Convolution({1, 8, 8, 8, 8, 5, -1}, 1), std::invalid_argument);
  EXPECT_THROW(Convolution({1, 8, 8, 8, 4, 5, 0}, 1), std::invalid_argument);
  EXPECT_THROW(Convolution({1, 8, 8, 8, 8, 5, 2}, 1, Tiling::f4), std::invalid_argument);
}

}  // namespace
}  // namespace plait::kernels::winograd
