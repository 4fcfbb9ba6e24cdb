// diff_weight[c,ky,kx] = sum_{n,y,x} diff_dst[n,c,y,x] src[n,c,y*s+ky*d-p,x*s+kx*d-p], for the
// channels of a block at once, vectorised with Highway: in fp32 within an image, in fp64 over the
// images.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd/depthwise_weights.cpp"
#include <hwy/foreach_target.h>
// after foreach_target, by Highway's rule
#include <hwy/highway.h>

#include <algorithm>

#include "base/rounding.hpp"
#include "kernels/simd/depthwise_weights.hpp"

#ifndef PLAIT_DEPTHWISE_RANGE
#define PLAIT_DEPTHWISE_RANGE
namespace plait::kernels::simd {

constexpr std::int64_t kMostTaps = 64;  // 7x7 and a little more
constexpr std::int64_t kMostBlock = 16;

/// One tap along one axis: which results it reads inside the image, and where the first one reads.
struct TapRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t shift = 0;  ///< result i reads i stride + shift

  TapRange(std::int64_t at, std::int64_t stride, std::int64_t src, std::int64_t dst) : shift(at) {
    begin = at < 0 ? divide_up(-at, stride) : 0;
    end = src > at ? std::min(dst, (src - 1 - at) / stride + 1) : 0;
  }
};

}  // namespace plait::kernels::simd
#endif

HWY_BEFORE_NAMESPACE();
namespace plait::kernels::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// sums[lane] += the products of `count` pixels of a row of gradients and of src.
template <int kBlock>
HWY_INLINE void add_row(const float* g, const float* x, std::int64_t count, std::int64_t step,
                        float* sums) {
  const hn::CappedTag<float, kBlock> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t lane = 0; lane < kBlock; lane += lanes) {
    auto a = hn::Load(d, sums + lane);
    auto b = hn::Zero(d);
    auto c = hn::Zero(d);
    auto e = hn::Zero(d);
    const float* gradient = g + lane;
    const float* source = x + lane;
    std::int64_t i = 0;
    for (; i + 4 <= count; i += 4, gradient += 4 * kBlock, source += 4 * step) {
      a = hn::MulAdd(hn::Load(d, gradient), hn::Load(d, source), a);
      b = hn::MulAdd(hn::Load(d, gradient + kBlock), hn::Load(d, source + step), b);
      c = hn::MulAdd(hn::Load(d, gradient + 2 * kBlock), hn::Load(d, source + 2 * step), c);
      e = hn::MulAdd(hn::Load(d, gradient + 3 * kBlock), hn::Load(d, source + 3 * step), e);
    }
    for (; i < count; ++i, gradient += kBlock, source += step) {
      b = hn::MulAdd(hn::Load(d, gradient), hn::Load(d, source), b);
    }
    hn::Store(hn::Add(hn::Add(a, b), hn::Add(c, e)), d, sums + lane);
  }
}

/// Of one image and one block of channels.
template <int kBlock>
HWY_INLINE void add_image(const DepthwiseShape& shape, const float* src, const float* diff_dst,
                          float* sums) {
  const ops::Convolution& conv = shape.convolution;
  const std::int64_t src_width = shape.src.shape[3];
  const std::int64_t dst_width = shape.dst.shape[3];
  const std::int64_t step = conv.stride.width * kBlock;
  for (std::int64_t y = 0; y < shape.dst.shape[2]; ++y) {
    for (std::int64_t ky = 0; ky < conv.kernel.height; ++ky) {
      const std::int64_t row =
          y * conv.stride.height + ky * conv.dilation.height - conv.padding.height;
      if (row < 0 || row >= shape.src.shape[2]) continue;
      for (std::int64_t kx = 0; kx < conv.kernel.width; ++kx) {
        const TapRange range(kx * conv.dilation.width - conv.padding.width, conv.stride.width,
                             src_width, dst_width);
        if (range.begin >= range.end) continue;
        const float* g = diff_dst + (y * dst_width + range.begin) * kBlock;
        const std::int64_t first = range.begin * conv.stride.width + range.shift;
        add_row<kBlock>(g, src + (row * src_width + first) * kBlock, range.end - range.begin, step,
                        sums + (ky * conv.kernel.width + kx) * kBlock);
      }
    }
  }
}

void depthwise_image(const DepthwiseShape& shape, const float* src, const float* diff_dst,
                     float* sums) {
  if (tensor::channel_block(shape.src.layout) == 16) {
    add_image<16>(shape, src, diff_dst, sums);
  } else {
    add_image<8>(shape, src, diff_dst, sums);
  }
}

}  // namespace plait::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plait::kernels::simd {

HWY_EXPORT(depthwise_image);

namespace {

/// Of block `part` of the channels.
void block_gradient(const DepthwiseShape& shape, const DepthwiseArgs& args, std::int64_t part) {
  const std::int64_t block = tensor::channel_block(shape.src.layout);
  const std::int64_t blocks = divide_up(shape.src.shape[1], block);
  const std::int64_t src_plane = shape.src.shape[2] * shape.src.shape[3] * block;
  const std::int64_t dst_plane = shape.dst.shape[2] * shape.dst.shape[3] * block;
  const std::int64_t weights =
      shape.convolution.kernel.height * shape.convolution.kernel.width * block;
  double total[kMostTaps * kMostBlock] = {};
  double bias[kMostBlock] = {};
  for (std::int64_t n = 0; n < shape.src.shape[0]; ++n) {
    alignas(64) float sums[kMostTaps * kMostBlock] = {};
    const float* diff_dst = args.diff_dst + (n * blocks + part) * dst_plane;
    HWY_DYNAMIC_DISPATCH(depthwise_image)
    (shape, args.src + (n * blocks + part) * src_plane, diff_dst, sums);
    for (std::int64_t i = 0; i < weights; ++i) total[i] += double{sums[i]};
    if (args.diff_bias == nullptr) continue;
    for (std::int64_t i = 0; i < dst_plane; ++i) bias[i % block] += double{diff_dst[i]};
  }
  for (std::int64_t i = 0; i < weights; ++i) {
    args.diff_weights[part * weights + i] = static_cast<float>(total[i]);
  }
  if (args.diff_bias == nullptr) return;
  const std::int64_t channels = std::min(block, shape.src.shape[1] - part * block);
  for (std::int64_t c = 0; c < channels; ++c) {
    args.diff_bias[part * block + c] = static_cast<float>(bias[c]);
  }
}

}  // namespace

bool depthwise_takes(const DepthwiseShape& shape) {
  const ops::Convolution& conv = shape.convolution;
  const std::int64_t channels = shape.src.shape[1];
  return channels > 1 && conv.groups == channels && conv.out_channels == channels &&
         tensor::channel_block(shape.src.layout) > 1 && shape.dst.layout == shape.src.layout &&
         conv.kernel.height <= kMostTaps / conv.kernel.width;
}

void depthwise_backward_weights(const DepthwiseShape& shape, const DepthwiseArgs& args,
                                int threads) {
  const std::int64_t blocks =
      divide_up(shape.src.shape[1], tensor::channel_block(shape.src.layout));
#pragma omp parallel for schedule(static) num_threads(threads)
  for (std::int64_t part = 0; part < blocks; ++part) block_gradient(shape, args, part);
}

}  // namespace plait::kernels::simd
#endif
