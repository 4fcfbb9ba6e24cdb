// The loops, divided between threads and vectorised by the compiler.
#include "kernels/simd/add.hpp"

#include <cstdint>

namespace plait::kernels::simd {

void add(const Sum& sum, int threads) {
  float* result = sum.result;
  const float* a = sum.a;
  const float* b = sum.b;
  const auto size = static_cast<std::int64_t>(sum.size);
#pragma omp parallel for simd num_threads(threads) schedule(static)
  for (std::int64_t i = 0; i < size; ++i) result[i] = a[i] + b[i];
}

void subtract(const Sum& sum, int threads) {
  float* result = sum.result;
  const float* a = sum.a;
  const float* b = sum.b;
  const auto size = static_cast<std::int64_t>(sum.size);
#pragma omp parallel for simd num_threads(threads) schedule(static)
  for (std::int64_t i = 0; i < size; ++i) result[i] = a[i] - b[i];
}

void negate(float* result, const float* a, std::size_t size, int threads) {
  const auto end = static_cast<std::int64_t>(size);
#pragma omp parallel for simd num_threads(threads) schedule(static)
  for (std::int64_t i = 0; i < end; ++i) result[i] = -a[i];
}

void copy(float* result, const float* a, std::size_t size, int threads) {
  const auto end = static_cast<std::int64_t>(size);
#pragma omp parallel for simd num_threads(threads) schedule(static)
  for (std::int64_t i = 0; i < end; ++i) result[i] = a[i];
}

}  // namespace plait::kernels::simd
