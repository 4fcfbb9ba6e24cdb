// The loop of ReLU, divided between threads; the comparison is written so that NaN passes.
#include "kernels/simd/relu.hpp"

#include <cstdint>

namespace plait::kernels::simd {

void relu(const float* src, float* dst, std::size_t size, int threads) {
  const auto count = static_cast<std::int64_t>(size);
#pragma omp parallel for simd num_threads(threads) schedule(static)
  for (std::int64_t i = 0; i < count; ++i) dst[i] = src[i] < 0 ? 0.0F : src[i];
}

}  // namespace plait::kernels::simd
