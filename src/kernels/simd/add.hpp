// Elementwise sum, difference and copy of float arrays, in parallel.
#pragma once

#include <cstddef>

namespace plait::kernels::simd {

/// result <- a + b, or a - b; result may be a or b.
struct Sum {
  float* result;
  const float* a;
  const float* b;
  std::size_t size;
};

void add(const Sum& sum, int threads);
void subtract(const Sum& sum, int threads);

/// result <- -a; result may be a.
void negate(float* result, const float* a, std::size_t size, int threads);

/// result <- a; they do not overlap.
void copy(float* result, const float* a, std::size_t size, int threads);

}  // namespace plait::kernels::simd
