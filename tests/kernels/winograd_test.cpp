// The Winograd convolution against a plain one in double precision.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "kernels/winograd/convolution.hpp"
#include "kernels/winograd_testing.hpp"

namespace plait::kernels::winograd {
namespace {

struct Case {
  ConvolutionShape shape;
  Tiling tiling;
};

class WinogradTest : public testing::TestWithParam<Case> {
 protected:
  WinogradTest()
      : s_(GetParam().shape),
        src_(src_of(s_).size()),
        diff_dst_(dst_of(s_).size()),
        oihw_(weights_size(s_)),
        weights_(weights_size(s_)),
        bias_(static_cast<std::size_t>(s_.out_channels)) {
    src_.fill_normal(1);
    diff_dst_.fill_normal(2);
    oihw_.fill_normal(3);
    bias_.fill_normal(4);
    pack_weights(s_, oihw_.data(), weights_.data());
  }

  double limit() const {
    switch (GetParam().tiling) {
      case Tiling::f4_5x5: return 2e-5;
      case Tiling::f4:
      case Tiling::f2_5x5: return 1e-5;
      default: return 2e-6;
    }
  }

  /// Taps that only meet padding: their gradient is exactly zero, while forward rounds with them.
  void clear_unused_taps() {
    const auto is_used = [&](std::size_t tap, int size, int outputs) {
      const int first = static_cast<int>(tap) - s_.padding;
      return first < size && first + outputs > 0;
    };
    const auto kernel = static_cast<std::size_t>(s_.kernel);
    for (std::size_t i = 0; i < oihw_.size(); ++i) {
      if (!is_used(i / kernel % kernel, s_.height, s_.dst_height()) ||
          !is_used(i % kernel, s_.width, s_.dst_width())) {
        oihw_[i] = 0;
      }
    }
    pack_weights(s_, oihw_.data(), weights_.data());
  }

  ConvolutionShape s_;
  Buffer src_, diff_dst_, oihw_, weights_, bias_;
};

TEST_P(WinogradTest, AgreesWithPlainConvolution) {
  const Reference expected(s_, src_, oihw_, diff_dst_);
  std::vector<double> with_bias = expected.dst;
  for (int n = 0; n < s_.batch; ++n) {
    for (int o = 0; o < s_.out_channels; ++o) {
      for (int y = 0; y < s_.dst_height(); ++y) {
        for (int x = 0; x < s_.dst_width(); ++x) {
          with_bias[dst_of(s_).at(n, o, y, x)] += bias_[static_cast<std::size_t>(o)];
        }
      }
    }
  }
  for (int threads : {1, 2, 3}) {
    SCOPED_TRACE(std::to_string(threads) + " threads");
    const Convolution convolution(s_, threads, GetParam().tiling);
    Buffer scratch(convolution.scratch_bytes() / sizeof(float));
    Buffer dst(diff_dst_.size());
    convolution.forward(src_.data(), weights_.data(), nullptr, dst.data(), scratch.data());
    EXPECT_LT(error(expected.dst, dst), limit());
    convolution.forward(src_.data(), weights_.data(), bias_.data(), dst.data(), scratch.data());
    EXPECT_LT(error(with_bias, dst), limit());

    Buffer diff_src(src_.size());
    convolution.backward_data(diff_dst_.data(), weights_.data(), diff_src.data(), scratch.data());
    EXPECT_LT(error(expected.diff_src, diff_src), limit());

    Buffer diff_weights(weights_.size()), diff_oihw(weights_.size()), diff_bias(bias_.size());
    convolution.backward_weights(src_.data(), diff_dst_.data(), diff_weights.data(),
                                 diff_bias.data(), scratch.data());
    unpack_weights(s_, diff_weights.data(), diff_oihw.data());
    EXPECT_LT(error(expected.diff_weights, diff_oihw), limit());
    EXPECT_LT(error(expected.diff_bias, diff_bias), limit());

    Buffer again(weights_.size());
    convolution.backward_weights(src_.data(), diff_dst_.data(), again.data(), nullptr,
                                 scratch.data());
    EXPECT_EQ(std::memcmp(again.data(), diff_weights.data(), again.bytes()), 0);
  }
}

TEST_P(WinogradTest, SecondRunGivesTheSameBits) {
  for (int threads : {1, 2, 3}) {
    SCOPED_TRACE(std::to_string(threads) + " threads");
    Buffer dst0(diff_dst_.size()), dst1(diff_dst_.size());
    Buffer diff_src0(src_.size()), diff_src1(src_.size());
    Buffer diff_weights0(weights_.size()), diff_weights1(weights_.size());
    Buffer diff_bias0(bias_.size()), diff_bias1(bias_.size());
    const auto run = [&](Buffer& dst, Buffer& diff_src, Buffer& diff_weights, Buffer& diff_bias) {
      const Convolution convolution(s_, threads, GetParam().tiling);
      Buffer scratch(convolution.scratch_bytes() / sizeof(float));
      convolution.forward(src_.data(), weights_.data(), bias_.data(), dst.data(), scratch.data());
      convolution.backward_data(diff_dst_.data(), weights_.data(), diff_src.data(), scratch.data());
      convolution.backward_weights(src_.data(), diff_dst_.data(), diff_weights.data(),
                                   diff_bias.data(), scratch.data());
    };
    run(dst0, diff_src0, diff_weights0, diff_bias0);
    run(dst1, diff_src1, diff_weights1, diff_bias1);
    EXPECT_EQ(std::memcmp(dst0.data(), dst1.data(), dst0.bytes()), 0);
    EXPECT_EQ(std::memcmp(diff_src0.data(), diff_src1.data(), diff_src0.bytes()), 0);
    EXPECT_EQ(std::memcmp(diff_weights0.data(), diff_weights1.data(), diff_weights0.bytes()), 0);
    EXPECT_EQ(std::memcmp(diff_bias0.data(), diff_bias1.data(), diff_bias0.bytes()), 0);
  }
}

// <dst(src), g> = <src, diff_src(g)> = <weights, diff_weights(src, g)>
TEST_P(WinogradTest, BackwardIsAdjointToForward) {
  clear_unused_taps();
  const auto dot = [](const Buffer& a, const Buffer& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += double{a[i]} * double{b[i]};
    return sum;
  };
  const Convolution convolution(s_, 2, GetParam().tiling);
  Buffer scratch(convolution.scratch_bytes() / sizeof(float));
  Buffer dst(diff_dst_.size()), diff_src(src_.size()), diff_weights(weights_.size());
  convolution.forward(src_.data(), weights_.data(), nullptr, dst.data(), scratch.data());
  convolution.backward_data(diff_dst_.data(), weights_.data(), diff_src.data(), scratch.data());
  convolution.backward_weights(src_.data(), diff_dst_.data(), diff_weights.data(), nullptr,
                               scratch.data());
  const double scale = std::sqrt(dot(dst, dst) * dot(diff_dst_, diff_dst_));
  EXPECT_NEAR(dot(src_, diff_src), dot(dst, diff_dst_), 1e-6 * scale);
  EXPECT_NEAR(dot(weights_, diff_weights), dot(dst, diff_dst_), 1e-6 * scale);
}

std::string case_name(const testing::TestParamInfo<Case>& info) {
  const ConvolutionShape& s = info.param.shape;
  static const std::map<Tiling, std::string> tilings{{Tiling::f2, "f2"},
                                                     {Tiling::f4, "f4"},
                                                     {Tiling::image2x2, "image2x2"},
                                                     {Tiling::f2_5x5, "f2_5x5"},
                                                     {Tiling::f4_5x5, "f4_5x5"}};
  return fmt::format("n{}i{}o{}h{}w{}p{}_{}", s.batch, s.in_channels, s.out_channels, s.height,
                     s.width, s.padding, tilings.at(info.param.tiling));
}

std::vector<Case> cases_3x3() {
  std::vector<Case> all;
  for (const ConvolutionShape& shape : {
           ConvolutionShape{1, 8, 8, 1, 1},
           {3, 16, 24, 5, 7},
           {2, 40, 8, 2, 2},
           {5, 64, 64, 4, 4},
           {2, 8, 64, 9, 10},
           {7, 16, 8, 1, 2},
           {4, 8, 16, 2, 1},
           {3, 8, 8, 1, 9},
           {17, 24, 16, 11, 6},  // several chunks
           {9, 256, 264, 2, 2},  // groups of channels
           {5, 136, 256, 3, 3},
           {3, 24, 40, 6, 9, 3, 0},
           {2, 16, 8, 7, 5, 3, 2},
       }) {
    all.push_back({shape, Tiling::f2});
    all.push_back({shape, Tiling::f4});
    if (choose_tiling(shape) == Tiling::image2x2) all.push_back({shape, Tiling::image2x2});
  }
  all.push_back({{450, 136, 256, 1, 1}, Tiling::f4});  // groups of channels, several chunks
  return all;
}

std::vector<Case> cases_5x5() {
  std::vector<Case> all;
  for (const ConvolutionShape& shape : {
           ConvolutionShape{1, 8, 8, 5, 5, 5, 0},  // fewer images than threads
           {1, 16, 8, 1, 1, 5, 2},
           {2, 24, 16, 9, 6, 5, 2},
           {3, 16, 24, 7, 11, 5, 1},
           {5, 8, 40, 10, 13, 5, 0},
           {2, 8, 16, 4, 3, 5, 4},
           {8, 24, 56, 12, 12, 5, 0},
           {2, 136, 256, 5, 5, 5, 1},  // groups of channels
       }) {
    all.push_back({shape, Tiling::f2_5x5});
    all.push_back({shape, Tiling::f4_5x5});
  }
  // Images of several chunks; groups of channels with several chunks, ending within an image.
  all.push_back({{3, 88, 80, 29, 13, 5, 2}, Tiling::f4_5x5});
  all.push_back({{37, 136, 256, 1, 13, 5, 2}, Tiling::f4_5x5});
  return all;
}

INSTANTIATE_TEST_SUITE_P(Kernel3x3, WinogradTest, testing::ValuesIn(cases_3x3()), case_name);
INSTANTIATE_TEST_SUITE_P(Kernel5x5, WinogradTest, testing::ValuesIn(cases_5x5()), case_name);

}  // namespace
}  // namespace plait::kernels::winograd
