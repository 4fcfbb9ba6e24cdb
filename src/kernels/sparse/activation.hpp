// What a sparse layer does with its sums. A NaN stays one.
#pragma once

#include <cstdint>

namespace plait::kernels::sparse {

enum class ActivationKind { none, relu, tanh, clip };

struct Activation {
  ActivationKind kind = ActivationKind::none;
  float ceiling = 32;  ///< of clip: to [0, ceiling]
};

/// delta <- diff_dst * f'(dst) for `size` floats, a multiple of 16, all aligned to 64 bytes; the
/// derivative at an edge of relu and clip is 0. delta may be diff_dst.
void activation_gradient(const Activation& activation, const float* dst, const float* diff_dst,
                         float* delta, std::int64_t size, int threads);

}  // namespace plait::kernels::sparse
