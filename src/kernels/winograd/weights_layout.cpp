// Weights between plain oihw and the blocked layout of convolution.hpp.
#include "kernels/winograd/convolution.hpp"

namespace plait::kernels::winograd {
namespace {

// Calls f(index in oihw, index in the blocked layout) for every weight.
template <class F>
void for_each_weight(const ConvolutionShape& shape, F f) {
  const std::size_t outs = static_cast<std::size_t>(shape.out_channels);
  const std::size_t ins = static_cast<std::size_t>(shape.in_channels);
  const std::size_t taps = static_cast<std::size_t>(shape.kernel * shape.kernel);
  for (std::size_t o = 0; o < outs; ++o) {
    for (std::size_t i = 0; i < ins; ++i) {
      const std::size_t block = (o / 8 * (ins / 8) + i / 8) * taps * 64;
      for (std::size_t tap = 0; tap < taps; ++tap) {
        f((o * ins + i) * taps + tap, block + tap * 64 + i % 8 * 8 + o % 8);
      }
    }
  }
}

}  // namespace

std::size_t weights_size(const ConvolutionShape& shape) {
  return static_cast<std::size_t>(shape.kernel * shape.kernel) *
         static_cast<std::size_t>(shape.in_channels) * static_cast<std::size_t>(shape.out_channels);
}

void pack_weights(const ConvolutionShape& shape, const float* oihw, float* weights) {
  for_each_weight(shape,
                  [&](std::size_t plain, std::size_t blocked) { weights[blocked] = oihw[plain]; });
}

void unpack_weights(const ConvolutionShape& shape, const float* weights, float* oihw) {
  for_each_weight(shape,
                  [&](std::size_t plain, std::size_t blocked) { oihw[plain] = weights[blocked]; });
}

}  // namespace plait::kernels::winograd
