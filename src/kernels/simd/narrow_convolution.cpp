// The Highway kernel of the weight gradient for one to four input channels, per thread over its
// samples, then summed in a fixed order.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd/narrow_convolution.cpp"
#include <hwy/foreach_target.h>
// after foreach_target, by Highway's rule
#include <hwy/highway.h>
#include <omp.h>

#include <algorithm>

#include "base/rounding.hpp"
#include "kernels/simd/narrow_convolution.hpp"

HWY_BEFORE_NAMESPACE();
namespace plait::kernels::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::CappedTag<float, 8>;
using Vec = hn::Vec<Tag>;

/// Samples [begin, end) into `sums`: the weights' gradient, then the bias's.
struct NarrowPart {
  const NarrowShape& shape;
  const NarrowArgs& args;
  std::int64_t begin;
  std::int64_t end;
  float* sums;
};

/// One kernel row against one image: sums[kw] += sum over pixels of diff_dst(oh, ow) src(ih, iw).
/// Each image is added up by itself first: one long sum would lose digits.
template <int kernel_width>
HWY_INLINE void kernel_row(const NarrowShape& shape, const float* src, const float* diff_dst,
                           std::int64_t kh, float* sums) {
  const Tag d;
  const ops::Convolution& c = shape.convolution;
  const std::int64_t stride = c.stride.width;
  // Columns [first, last) have the whole kernel row inside the image.
  const std::int64_t reach = (kernel_width - 1) * c.dilation.width;
  const std::int64_t first = std::min(shape.dst_width, divide_up(c.padding.width, stride));
  const std::int64_t room = shape.src_width - 1 - reach + c.padding.width;
  const std::int64_t last =
      room < 0 ? first : std::clamp(room / stride + 1, first, shape.dst_width);
  Vec even[kernel_width];
  Vec odd[kernel_width];
  for (int k = 0; k < kernel_width; ++k) even[k] = hn::Zero(d), odd[k] = hn::Zero(d);
  for (std::int64_t oh = 0; oh < shape.dst_height; ++oh) {
    const std::int64_t ih = oh * c.stride.height + kh * c.dilation.height - c.padding.height;
    if (ih < 0 || ih >= shape.src_height) continue;
    const float* row = src + ih * shape.src_width - c.padding.width;
    const float* gradient = diff_dst + oh * shape.dst_width * 8;
    const auto edge = [&](std::int64_t ow) HWY_ATTR {
      const Vec g = hn::LoadU(d, gradient + 8 * ow);
      for (int k = 0; k < kernel_width; ++k) {
        const std::int64_t iw = ow * stride + k * c.dilation.width;
        if (iw < c.padding.width || iw >= c.padding.width + shape.src_width) continue;
        even[k] = hn::MulAdd(g, hn::Set(d, row[iw]), even[k]);
      }
    };
    for (std::int64_t ow = 0; ow < first; ++ow) edge(ow);
    std::int64_t ow = first;
    for (; ow + 2 <= last; ow += 2) {
      const Vec g0 = hn::LoadU(d, gradient + 8 * ow);
      const Vec g1 = hn::LoadU(d, gradient + 8 * ow + 8);
      const float* x = row + ow * stride;
      for (int k = 0; k < kernel_width; ++k) {
        even[k] = hn::MulAdd(g0, hn::Set(d, x[k * c.dilation.width]), even[k]);
        odd[k] = hn::MulAdd(g1, hn::Set(d, x[k * c.dilation.width + stride]), odd[k]);
      }
    }
    for (; ow < shape.dst_width; ++ow) edge(ow);
  }
  for (int k = 0; k < kernel_width; ++k) {
    const Vec image = hn::Add(even[k], odd[k]);
    hn::StoreU(hn::Add(hn::LoadU(d, sums + 8 * k), image), d, sums + 8 * k);
  }
}

/// sums += all pixels of one image, added up row by row.
HWY_INLINE void add_pixels(const NarrowShape& shape, const float* diff_dst, float* sums) {
  const Tag d;
  Vec image = hn::Zero(d);
  for (std::int64_t oh = 0; oh < shape.dst_height; ++oh) {
    Vec row = hn::Zero(d);
    for (std::int64_t ow = 0; ow < shape.dst_width; ++ow, diff_dst += 8) {
      row = hn::Add(row, hn::LoadU(d, diff_dst));
    }
    image = hn::Add(image, row);
  }
  hn::StoreU(hn::Add(hn::LoadU(d, sums), image), d, sums);
}

template <int kernel_width>
void part_of_width(const NarrowPart& part) {
  const Tag d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const NarrowShape& shape = part.shape;
  const std::int64_t blocks = (shape.convolution.out_channels + 7) / 8;
  const std::int64_t plane = shape.dst_height * shape.dst_width * 8;
  const std::int64_t image = shape.src_height * shape.src_width;
  const std::int64_t rows = shape.in_channels * shape.convolution.kernel.height;
  float* bias = part.sums + blocks * rows * kernel_width * 8;
  for (std::int64_t n = part.begin; n < part.end; ++n) {
    for (std::int64_t ob = 0; ob < blocks; ++ob) {
      const float* diff_dst = part.args.diff_dst + (n * blocks + ob) * plane;
      for (std::int64_t lane = 0; lane < 8; lane += lanes) {
        for (std::int64_t r = 0; r < rows; ++r) {
          const float* src =
              part.args.src + (n * shape.in_channels + r / shape.convolution.kernel.height) * image;
          kernel_row<kernel_width>(shape, src, diff_dst + lane, r % shape.convolution.kernel.height,
                                   part.sums + (ob * rows + r) * kernel_width * 8 + lane);
        }
        add_pixels(shape, diff_dst + lane, bias + 8 * ob + lane);
      }
    }
  }
}

void part(const NarrowPart& p) {
  switch (p.shape.convolution.kernel.width) {
    case 1: return part_of_width<1>(p);
    case 2: return part_of_width<2>(p);
    case 3: return part_of_width<3>(p);
    case 4: return part_of_width<4>(p);
    case 5: return part_of_width<5>(p);
    case 6: return part_of_width<6>(p);
    case 7: return part_of_width<7>(p);
    case 8: return part_of_width<8>(p);
    default: return;
  }
}

void all_parts(const NarrowShape& shape, const NarrowArgs& args, int threads, float* sums) {
  const auto size = static_cast<std::int64_t>(narrow_weights_size(shape)) +
                    (shape.convolution.out_channels + 7) / 8 * 8;
#pragma omp parallel num_threads(threads)
  {
    const std::int64_t thread = omp_get_thread_num();
    const std::int64_t team = omp_get_num_threads();
    float* own = sums + thread * size;
    std::fill_n(own, size, 0.0F);
    part({shape, args, shape.batch * thread / team, shape.batch * (thread + 1) / team, own});
#pragma omp single
    for (std::int64_t t = team; t < threads; ++t) std::fill_n(sums + t * size, size, 0.0F);
  }
}

}  // namespace plait::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plait::kernels::simd {

HWY_EXPORT(all_parts);

bool narrow_takes(const NarrowShape& shape) {
  const ops::Convolution& c = shape.convolution;
  return shape.in_channels <= 4 && c.groups == 1 && c.kernel.width <= 8;
}

std::size_t narrow_weights_size(const NarrowShape& shape) {
  const ops::Convolution& c = shape.convolution;
  return static_cast<std::size_t>((c.out_channels + 7) / 8 * 8 * shape.in_channels *
                                  c.kernel.height * c.kernel.width);
}

std::size_t narrow_scratch_bytes(const NarrowShape& shape, int threads) {
  const auto bias = static_cast<std::size_t>((shape.convolution.out_channels + 7) / 8 * 8);
  return sizeof(float) * (narrow_weights_size(shape) + bias) * static_cast<std::size_t>(threads);
}

void narrow_backward_weights(const NarrowShape& shape, const NarrowArgs& args, int threads,
                             std::byte* scratch) {
  auto* sums = reinterpret_cast<float*>(scratch);
  HWY_DYNAMIC_DISPATCH(all_parts)(shape, args, threads, sums);
  const std::size_t weights = narrow_weights_size(shape);
  const std::size_t size = narrow_scratch_bytes(shape, 1) / sizeof(float);
  for (std::size_t i = 0; i < size; ++i) {
    float sum = 0;
    for (int t = 0; t < threads; ++t) sum += sums[static_cast<std::size_t>(t) * size + i];
    if (i < weights) {
      args.diff_weights[i] = sum;
    } else if (args.diff_bias != nullptr) {
      args.diff_bias[i - weights] = sum;
    }
  }
}

}  // namespace plait::kernels::simd
#endif
