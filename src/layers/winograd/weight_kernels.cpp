// The transforms between weights and panels: transform_weights, transform_weights_backward and
// transform_diff_weights of kernels.hpp. All on one block of 8 x 8 channels.
#include "layers/winograd/kernels.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "layers/winograd/weight_kernels.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h.
#include "hwy/highway.h"
#include "layers/winograd/lanes-inl.hpp"
#include "layers/winograd/transforms-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace plait::winograd {
namespace HWY_NAMESPACE {

constexpr int kTap = 64;  // floats per tap of a block

template <class T>
void weights_to_panel(const float* weights, float* panel, std::ptrdiff_t plane) {
  for (int k = 0; k < 8; ++k, weights += 8, panel += 8) {
    Lanes rows[3][T::kPoints];
    HWY_UNROLL(3)
    for (int i = 0; i < 3; ++i) {
      const float* row = weights + 3 * i * kTap;
      const Lanes in[3] = {load(row), load(row + kTap), load(row + 2 * kTap)};
      T::weights(in, rows[i]);
    }
    for (int j = 0; j < T::kPoints; ++j) {
      const Lanes in[3] = {rows[0][j], rows[1][j], rows[2][j]};
      Lanes out[T::kPoints];
      T::weights(in, out);
      HWY_UNROLL(6)
      for (int i = 0; i < T::kPoints; ++i) store(out[i], panel + (i * T::kPoints + j) * plane);
    }
  }
}

template <class T>
void panels_to_weights(const float* panels, std::ptrdiff_t plane, int count, std::ptrdiff_t stride,
                       float* weights) {
  for (int k = 0; k < 8; ++k, weights += 8, panels += 8) {
    Lanes columns[T::kPoints][3];
    for (int j = 0; j < T::kPoints; ++j) {
      Lanes in[T::kPoints];
      HWY_UNROLL(6)
      for (int i = 0; i < T::kPoints; ++i) {
        const float* from = panels + (i * T::kPoints + j) * plane;
        in[i] = load(from);
        for (int p = 1; p < count; ++p) in[i] = in[i] + load(from + p * stride);
      }
      T::diff_weights(in, columns[j]);
    }
    HWY_UNROLL(3)
    for (int i = 0; i < 3; ++i) {
      Lanes in[T::kPoints], out[3];
      HWY_UNROLL(6)
      for (int j = 0; j < T::kPoints; ++j) in[j] = columns[j][i];
      T::diff_weights(in, out);
      HWY_UNROLL(3)
      for (int j = 0; j < 3; ++j) store(out[j], weights + (3 * i + j) * kTap);
    }
  }
}

void weights_for(Tiling tiling, const float* weights, float* panel, std::ptrdiff_t plane) {
  switch (tiling) {
    case Tiling::f2: return weights_to_panel<F2>(weights, panel, plane);
    case Tiling::f4: return weights_to_panel<F4>(weights, panel, plane);
    case Tiling::image2x2: return weights_to_panel<Image2x2>(weights, panel, plane);
  }
}

void weights_backward_for(Tiling tiling, const float* weights, float* panel, std::ptrdiff_t plane) {
  alignas(64) float turned[9 * kTap];
  for (int tap = 0; tap < 9; ++tap) {
    transpose_8x8(weights + tap * kTap, turned + (8 - tap) * kTap);
  }
  weights_for(tiling, turned, panel, plane);
}

void diff_weights_for(Tiling tiling, const float* panels, std::ptrdiff_t plane, int count,
                      std::ptrdiff_t stride, float* to) {
  switch (tiling) {
    case Tiling::f2: return panels_to_weights<F2>(panels, plane, count, stride, to);
    case Tiling::f4: return panels_to_weights<F4>(panels, plane, count, stride, to);
    case Tiling::image2x2: return panels_to_weights<Image2x2>(panels, plane, count, stride, to);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace plait::winograd
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plait::winograd {

HWY_EXPORT(weights_for);
HWY_EXPORT(weights_backward_for);
HWY_EXPORT(diff_weights_for);

void transform_weights(Tiling tiling, const float* weights, float* panel, std::ptrdiff_t plane) {
  HWY_DYNAMIC_DISPATCH(weights_for)(tiling, weights, panel, plane);
}

void transform_weights_backward(Tiling tiling, const float* weights, float* panel,
                                std::ptrdiff_t plane) {
  HWY_DYNAMIC_DISPATCH(weights_backward_for)(tiling, weights, panel, plane);
}

void transform_diff_weights(Tiling tiling, const float* panels, std::ptrdiff_t plane, int count,
                            std::ptrdiff_t stride, float* diff_weights) {
  HWY_DYNAMIC_DISPATCH(diff_weights_for)(tiling, panels, plane, count, stride, diff_weights);
}

}  // namespace plait::winograd
#endif  // HWY_ONCE
