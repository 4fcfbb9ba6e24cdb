// A plain convolution in double precision, and buffers, for the tests of kernels/winograd.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <new>
#include <random>
#include <vector>

#include "kernels/winograd/convolution.hpp"

namespace plait::kernels::winograd {

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

// A tensor in nChw8c.
struct Images {
  int batch, channels, height, width;

  std::size_t size() const {
    return static_cast<std::size_t>(batch) * static_cast<std::size_t>(channels) *
           static_cast<std::size_t>(height) * static_cast<std::size_t>(width);
  }
  std::size_t at(int n, int c, int y, int x) const {
    return static_cast<std::size_t>((((n * (channels / 8) + c / 8) * height + y) * width + x) * 8 +
                                    c % 8);
  }
};

inline Images src_of(const ConvolutionShape& s) {
  return {s.batch, s.in_channels, s.height, s.width};
}
inline Images dst_of(const ConvolutionShape& s) {
  return {s.batch, s.out_channels, s.dst_height(), s.dst_width()};
}

// Index into oihw.
inline std::size_t weight_at(const ConvolutionShape& s, int o, int i, int ky, int kx) {
  return static_cast<std::size_t>(((o * s.in_channels + i) * s.kernel + ky) * s.kernel + kx);
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
        for (int y = 0; y < s.dst_height(); ++y) {
          for (int x = 0; x < s.dst_width(); ++x) {
            const std::size_t d = dst_of(s).at(n, o, y, x);
            diff_bias[static_cast<std::size_t>(o)] += diff_dst[d];
            for (int i = 0; i < s.in_channels; ++i) {
              for (int ky = 0; ky < s.kernel; ++ky) {
                for (int kx = 0; kx < s.kernel; ++kx) {
                  const int sy = y + ky - s.padding, sx = x + kx - s.padding;
                  if (sy < 0 || sy >= s.height || sx < 0 || sx >= s.width) continue;
                  const std::size_t from = src_of(s).at(n, i, sy, sx);
                  const std::size_t w = weight_at(s, o, i, ky, kx);
                  dst[d] += double{src[from]} * double{weights[w]};
                  diff_src[from] += double{diff_dst[d]} * double{weights[w]};
                  diff_weights[w] += double{src[from]} * double{diff_dst[d]};
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
inline double error(const std::vector<double>& expected, const Buffer& actual) {
  double largest = 0, difference = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    largest = std::max(largest, std::abs(expected[i]));
    difference = std::max(difference, std::abs(expected[i] - double{actual[i]}));
    if (std::isnan(actual[i])) return INFINITY;
  }
  return difference / largest;
}

}  // namespace plait::kernels::winograd
