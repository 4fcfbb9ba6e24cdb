// ReLU that lets NaN through, as PyTorch does: a network that went wrong must not look well again.
#pragma once

#include <cstddef>

namespace plait::kernels::simd {

/// dst <- src where src >= 0 or NaN, else 0; dst may be src.
void relu(const float* src, float* dst, std::size_t size, int threads);

}  // namespace plait::kernels::simd
