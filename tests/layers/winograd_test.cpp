// The Winograd convolution against a plain one in double precision.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <new>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "hwy/targets.h"
#include "layers/winograd/convolution.hpp"

namespace plait::winograd {
namespace {

// 64-byte aligned floats, as the interface asks for.
class Buffer {
 public:
  explicit Buffer(std::size_t size) : size_(size), data_(new (std::align_val_t{64}) float[size]) {
    std::fill_n(data_, size, std::nanf(""));
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { operator delete[](data_, std::align_val_t{64}); }

  float* data() { return data_; }
  const float* data() const { return data_; }
  std::size_t size() const { return size_; }
  std::size_t bytes() const { return size_ * sizeof(float); }
  float& operator[](std::size_t i) { return data_[i]; }
  float operator[](std::size_t i) const { return data_[i]; }

  void fill_normal(unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    std::generate_n(data_, size_, [&] { return normal(random); });
  }

 private:
  std::size_t size_;
  float* data_;
};

std::size_t pixels(const ConvolutionShape& s) {
  return static_cast<std::size_t>(s.batch) * static_cast<std::size_t>(s.height) *
         static_cast<std::size_t>(s.width);
}

// Index into nChw8c.
std::size_t at(const ConvolutionShape& s, int channels, int n, int c, int y, int x) {
  return static_cast<std::size_t>(
      (((n * (channels / 8) + c / 8) * s.height + y) * s.width + x) * 8 + c % 8);
}

// Index into oihw.
std::size_t weight_at(const ConvolutionShape& s, int o, int i, int ky, int kx) {
  return static_cast<std::size_t>(((o * s.in_channels + i) * 3 + ky) * 3 + kx);
}

// The three tasks, in double precision; weights in oihw.
struct Reference {
  std::vector<double> dst, diff_src, diff_weights, diff_bias;

  Reference(const ConvolutionShape& s, const Buffer& src, const Buffer& weights,
            const Buffer& diff_dst)
      : dst(diff_dst.size()),
        diff_src(src.size()),
        diff_weights(weights.size()),
        diff_bias(static_cast<std::size_t>(s.out_channels)) {
    for (int n = 0; n < s.batch; ++n) {
      for (int o = 0; o < s.out_channels; ++o) {
        for (int y = 0; y < s.height; ++y) {
          for (int x = 0; x < s.width; ++x) {
            const std::size_t d = at(s, s.out_channels, n, o, y, x);
            diff_bias[static_cast<std::size_t>(o)] += diff_dst[d];
            for (int i = 0; i < s.in_channels; ++i) {
              for (int ky = 0; ky < 3; ++ky) {
                for (int kx = 0; kx < 3; ++kx) {
                  const int sy = y + ky - 1, sx = x + kx - 1;
                  if (sy < 0 || sy >= s.height || sx < 0 || sx >= s.width) continue;
                  const std::size_t a = at(s, s.in_channels, n, i, sy, sx);
                  const std::size_t w = weight_at(s, o, i, ky, kx);
                  dst[d] += double{src[a]} * double{weights[w]};
                  diff_src[a] += double{diff_dst[d]} * double{weights[w]};
                  diff_weights[w] += double{src[a]} * double{diff_dst[d]};
                }
              }
            }
          }
        }
      }
    }
  }
};

// The largest difference, relative to the largest expected value.
double error(const std::vector<double>& expected, const Buffer& actual) {
  double largest = 0, difference = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    largest = std::max(largest, std::abs(expected[i]));
    difference = std::max(difference, std::abs(expected[i] - double{actual[i]}));
    if (std::isnan(actual[i])) return INFINITY;
  }
  return difference / largest;
}

struct Case {
  ConvolutionShape shape;
  Tiling tiling;
};

class WinogradTest : public testing::TestWithParam<Case> {
 protected:
  WinogradTest()
      : s_(GetParam().shape),
        src_(pixels(s_) * static_cast<std::size_t>(s_.in_channels)),
        diff_dst_(pixels(s_) * static_cast<std::size_t>(s_.out_channels)),
        oihw_(weights_size(s_)),
        weights_(weights_size(s_)),
        bias_(static_cast<std::size_t>(s_.out_channels)) {
    src_.fill_normal(1);
    diff_dst_.fill_normal(2);
    oihw_.fill_normal(3);
    bias_.fill_normal(4);
    pack_weights(s_, oihw_.data(), weights_.data());
  }

  double limit() const { return GetParam().tiling == Tiling::f4 ? 1e-5 : 2e-6; }

  ConvolutionShape s_;
  Buffer src_, diff_dst_, oihw_, weights_, bias_;
};

TEST_P(WinogradTest, AgreesWithPlainConvolution) {
  const Reference expected(s_, src_, oihw_, diff_dst_);
  std::vector<double> with_bias = expected.dst;
  for (int n = 0; n < s_.batch; ++n) {
    for (int o = 0; o < s_.out_channels; ++o) {
      for (int y = 0; y < s_.height; ++y) {
        for (int x = 0; x < s_.width; ++x) {
          with_bias[at(s_, s_.out_channels, n, o, y, x)] += bias_[static_cast<std::size_t>(o)];
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
  const char* tiling = info.param.tiling == Tiling::f2   ? "f2"
                       : info.param.tiling == Tiling::f4 ? "f4"
                                                         : "image2x2";
  return "n" + std::to_string(s.batch) + "i" + std::to_string(s.in_channels) + "o" +
         std::to_string(s.out_channels) + "h" + std::to_string(s.height) + "w" +
         std::to_string(s.width) + "_" + tiling;
}

std::vector<Case> cases() {
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
       }) {
    all.push_back({shape, Tiling::f2});
    all.push_back({shape, Tiling::f4});
    if (shape.height <= 2 && shape.width <= 2) all.push_back({shape, Tiling::image2x2});
  }
  all.push_back({{450, 136, 256, 1, 1}, Tiling::f4});  // groups of channels, several chunks
  return all;
}

INSTANTIATE_TEST_SUITE_P(Shapes, WinogradTest, testing::ValuesIn(cases()), case_name);

// Every instruction set that this processor has, not just the best one.
TEST(WinogradTargets, AgreeWithEachOther) {
  const ConvolutionShape s{3, 16, 24, 5, 7};
  Buffer src(pixels(s) * 16), diff_dst(pixels(s) * 24), oihw(weights_size(s));
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

TEST(WinogradConvolution, IsWorthwhileForCommonShapesOnly) {
  for (const Task task : {Task::forward, Task::backward_data, Task::backward_weights}) {
    EXPECT_TRUE(worthwhile({64, 64, 64, 32, 32}, task));
    EXPECT_TRUE(worthwhile({64, 512, 512, 2, 2}, task));
    EXPECT_TRUE(worthwhile({32, 16, 16, 32, 32}, task));
    EXPECT_FALSE(worthwhile({64, 512, 512, 1, 1}, task));
    EXPECT_FALSE(worthwhile({1, 512, 512, 4, 4}, task));
  }
}

TEST(WinogradWeights, UnpackUndoesPack) {
  const ConvolutionShape s{1, 16, 24, 4, 4};
  Buffer oihw(weights_size(s)), packed(weights_size(s)), back(weights_size(s));
  oihw.fill_normal(5);
  pack_weights(s, oihw.data(), packed.data());
  unpack_weights(s, packed.data(), back.data());
  EXPECT_EQ(std::memcmp(oihw.data(), back.data(), oihw.bytes()), 0);
}

TEST(WinogradConvolution, RefusesWhatItCannotDo) {
  EXPECT_THROW(Convolution({1, 3, 8, 4, 4}, 1), std::invalid_argument);
  EXPECT_THROW(Convolution({1, 8, 12, 4, 4}, 1), std::invalid_argument);
  EXPECT_THROW(Convolution({0, 8, 8, 4, 4}, 1), std::invalid_argument);
  EXPECT_THROW(Convolution({1, 8, 8, 4, 4}, 0), std::invalid_argument);
  EXPECT_THROW(Convolution({1, 8, 8, 4, 4}, 1, Tiling::image2x2), std::invalid_argument);
}

}  // namespace
}  // namespace plait::winograd
