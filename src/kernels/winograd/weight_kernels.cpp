// The transforms between weights and panels: transform_weights and transform_diff_weights of
// kernels.hpp. Both on one block of 8 x 8 channels.
#include "kernels/winograd/kernels.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/winograd/weight_kernels.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h.
#include "hwy/highway.h"
#include "kernels/winograd/lanes-inl.hpp"
#include "kernels/winograd/transforms-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace plait::kernels::winograd {
namespace HWY_NAMESPACE {

constexpr int kTap = 64;  // floats per tap of a block

template <class T>
void weights_to_panel(const float* weights, float* panel, std::ptrdiff_t plane) {
  for (int k = 0; k < 8; ++k, weights += 8, panel += 8) {
    Lanes rows[T::kTaps][T::kPoints];
    HWY_UNROLL(5)
    for (int i = 0; i < T::kTaps; ++i) {
      Lanes in[T::kTaps];
      HWY_UNROLL(5)
      for (int j = 0; j < T::kTaps; ++j) in[j] = load(weights + (T::kTaps * i + j) * kTap);
      T::weights(in, rows[i]);
    }
    for (int j = 0; j < T::kPoints; ++j) {
      Lanes in[T::kTaps], out[T::kPoints];
      HWY_UNROLL(5)
      for (int i = 0; i < T::kTaps; ++i) in[i] = rows[i][j];
      T::weights(in, out);
      HWY_UNROLL(8)
      for (int i = 0; i < T::kPoints; ++i) store(out[i], panel + (i * T::kPoints + j) * plane);
    }
  }
}

template <class T>
void panels_to_weights(const float* panels, std::ptrdiff_t plane, int count, std::ptrdiff_t stride,
                       float* weights) {
  for (int k = 0; k < 8; ++k, weights += 8, panels += 8) {
    Lanes columns[T::kPoints][T::kTaps];
    for (int j = 0; j < T::kPoints; ++j) {
      Lanes in[T::kPoints];
      HWY_UNROLL(8)
      for (int i = 0; i < T::kPoints; ++i) {
        const float* from = panels + (i * T::kPoints + j) * plane;
        in[i] = load(from);
        for (int p = 1; p < count; ++p) in[i] = in[i] + load(from + p * stride);
      }
      T::diff_weights(in, columns[j]);
    }
    HWY_UNROLL(5)
    for (int i = 0; i < T::kTaps; ++i) {
      Lanes in[T::kPoints], out[T::kTaps];
      HWY_UNROLL(8)
      for (int j = 0; j < T::kPoints; ++j) in[j] = columns[j][i];
      T::diff_weights(in, out);
      HWY_UNROLL(5)
      for (int j = 0; j < T::kTaps; ++j) store(out[j], weights + (T::kTaps * i + j) * kTap);
    }
  }
}

void weights_for(Tiling tiling, Method method, const float* weights, float* panel,
                 std::ptrdiff_t plane) {
  alignas(64) float swapped[25 * kTap];
  if (method != Method::forward) {
    const int taps = kernel_size(tiling) * kernel_size(tiling);
    for (int tap = 0; tap < taps; ++tap) {
      const int to = method == Method::turned ? taps - 1 - tap : tap;
      transpose_8x8(weights + tap * kTap, swapped + to * kTap);
    }
    weights = swapped;
  }
  with_transforms(tiling,
                  [&](auto t) HWY_ATTR { weights_to_panel<decltype(t)>(weights, panel, plane); });
}

void diff_weights_for(Tiling tiling, const float* panels, std::ptrdiff_t plane, int count,
                      std::ptrdiff_t stride, float* to) {
  with_transforms(tiling, [&](auto t) HWY_ATTR {
    panels_to_weights<decltype(t)>(panels, plane, count, stride, to);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace plait::kernels::winograd
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plait::kernels::winograd {

HWY_EXPORT(weights_for);
HWY_EXPORT(diff_weights_for);

void transform_weights(Tiling tiling, Method method, const float* weights, float* panel,
                       std::ptrdiff_t plane) {
  HWY_DYNAMIC_DISPATCH(weights_for)(tiling, method, weights, panel, plane);
}

void transform_diff_weights(Tiling tiling, const float* panels, std::ptrdiff_t plane, int count,
                            std::ptrdiff_t stride, float* diff_weights) {
  HWY_DYNAMIC_DISPATCH(diff_weights_for)(tiling, panels, plane, count, stride, diff_weights);
}

}  // namespace plait::kernels::winograd
#endif  // HWY_ONCE
