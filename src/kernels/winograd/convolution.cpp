// The public class: checks, and which plan and which order of channels goes with which task. The
// work is in run_data.cpp and run_weights.cpp.
#include "kernels/winograd/convolution.hpp"

#include <algorithm>
#include <stdexcept>

#include "kernels/winograd/run.hpp"

namespace plait::kernels::winograd {
namespace {

const ConvolutionShape& checked(const ConvolutionShape& shape, int threads) {
  if (shape.batch < 1 || shape.height < 1 || shape.width < 1) {
    throw std::invalid_argument("winograd convolution: batch, height and width must be positive");
  }
  if (shape.in_channels < 8 || shape.in_channels % 8 != 0 || shape.out_channels < 8 ||
      shape.out_channels % 8 != 0) {
    throw std::invalid_argument("winograd convolution: channels must be multiples of 8");
  }
  if (shape.kernel != 3 && shape.kernel != 5) {
    throw std::invalid_argument("winograd convolution: kernel must be 3 or 5");
  }
  if (shape.padding < 0 || shape.padding >= shape.kernel) {
    throw std::invalid_argument("winograd convolution: padding must be 0 .. kernel - 1");
  }
  if (shape.dst_height() < 1 || shape.dst_width() < 1) {
    throw std::invalid_argument("winograd convolution: image smaller than the kernel");
  }
  if (threads < 1) throw std::invalid_argument("winograd convolution: threads must be positive");
  return shape;
}

Tiling checked(Tiling tiling, const ConvolutionShape& shape) {
  if (kernel_size(tiling) != shape.kernel) {
    throw std::invalid_argument("winograd convolution: tiling for another kernel size");
  }
  if (tiling == Tiling::image2x2 && (shape.padding != 1 || shape.height > 2 || shape.width > 2)) {
    throw std::invalid_argument("winograd convolution: image larger than 2x2, or padding not 1");
  }
  return tiling;
}

// Whether a tap ever meets a pixel of the image, along one axis, and not only padding.
bool meets_image(int tap, int src, int dst, int padding) {
  return std::max(0, padding - tap) < std::min(dst, src + padding - tap);
}

// Taps that only ever meet padding have no gradient. The transforms leave rounding errors there,
// which Adam would turn into steps of full length.
void clear_unused_taps(const ConvolutionShape& shape, float* diff_weights) {
  const int kernel = shape.kernel;
  const std::ptrdiff_t taps = std::ptrdiff_t{kernel} * kernel;
  float* const end = diff_weights + weights_size(shape);
  for (int tap = 0; tap < kernel * kernel; ++tap) {
    if (meets_image(tap / kernel, shape.height, shape.dst_height(), shape.padding) &&
        meets_image(tap % kernel, shape.width, shape.dst_width(), shape.padding)) {
      continue;
    }
    for (float* block = diff_weights; block != end; block += taps * 64) {
      std::fill_n(block + std::ptrdiff_t{tap} * 64, 64, 0.0f);
    }
  }
}

}  // namespace

Convolution::Convolution(const ConvolutionShape& shape, int threads)
    : Convolution(shape, threads, choose_tiling(shape)) {}

Convolution::Convolution(const ConvolutionShape& shape, int threads, Tiling tiling)
    : shape_(checked(shape, threads)),
      threads_(threads),
      tiling_(checked(tiling, shape)),
      forward_(plan_forward(shape, tiling, threads)),
      backward_data_(plan_backward_data(shape, tiling, threads)),
      backward_weights_(plan_backward_weights(shape, tiling, threads)) {}

std::size_t Convolution::scratch_bytes(Pass pass) const {
  switch (pass) {
    case Pass::forward: return forward_.scratch_bytes;
    case Pass::backward_data: return backward_data_.scratch_bytes;
    case Pass::backward_weights: return backward_weights_.scratch_bytes;
  }
  return 0;
}

std::size_t Convolution::scratch_bytes() const {
  return std::max(
      {forward_.scratch_bytes, backward_data_.scratch_bytes, backward_weights_.scratch_bytes});
}

void Convolution::forward(const float* src, const float* weights, const float* bias_or_null,
                          float* dst, void* scratch) const {
  run_data(forward_, src, weights, bias_or_null, dst, scratch);
}

void Convolution::backward_data(const float* diff_dst, const float* weights, float* diff_src,
                                void* scratch) const {
  run_data(backward_data_, diff_dst, weights, nullptr, diff_src, scratch);
}

void Convolution::backward_weights(const float* src, const float* diff_dst, float* diff_weights,
                                   float* diff_bias_or_null, void* scratch) const {
  run_weights(backward_weights_, src, diff_dst, diff_weights, diff_bias_or_null, scratch);
  clear_unused_taps(shape_, diff_weights);
}

}  // namespace plait::kernels::winograd
