// backward_weights of a convolution whose source has very few channels (the images): plain source,
// channel-blocked gradient. oneDNN would pad the source to a whole block of channels.
#pragma once

#include <cstddef>

#include "graph/spec.hpp"

namespace plait::kernels::simd {

struct NarrowShape {
  std::int64_t batch = 0;
  std::int64_t in_channels = 0;
  std::int64_t src_height = 0, src_width = 0;
  std::int64_t dst_height = 0, dst_width = 0;
  ops::Convolution convolution;  ///< groups 1, kernel width at most 8
};

/// src NCHW; diff_dst in blocks of 8 channels; diff_weights [oc / 8][ic][kh][kw][8], overwritten.
struct NarrowArgs {
  const float* src = nullptr;
  const float* diff_dst = nullptr;
  float* diff_weights = nullptr;
  float* diff_bias = nullptr;  ///< padded to whole blocks; may be null
};

bool narrow_takes(const NarrowShape& shape);
/// One set of sums per thread.
std::size_t narrow_scratch_bytes(const NarrowShape& shape, int threads);
std::size_t narrow_weights_size(const NarrowShape& shape);
void narrow_backward_weights(const NarrowShape& shape, const NarrowArgs& args, int threads,
                             std::byte* scratch);

}  // namespace plait::kernels::simd
