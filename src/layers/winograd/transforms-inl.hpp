// The one-dimensional transforms of each tiling, on eight channels at a time; a tile's transform is
// the one-dimensional one along its rows, then along its columns. With d, g, y for a row of src,
// weights and dst:
//
//   y = A^T [(G g) . (B^T d)]         its adjoints: dg = G^T [(B^T d) . (A dy)]
//
// src: d -> B^T d, weights: g -> G g, dst: m -> A^T m, diff_dst: dy -> A dy, diff_weights: G^T.
#if defined(PLAIT_LAYERS_WINOGRAD_TRANSFORMS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef PLAIT_LAYERS_WINOGRAD_TRANSFORMS_INL
#undef PLAIT_LAYERS_WINOGRAD_TRANSFORMS_INL
#else
#define PLAIT_LAYERS_WINOGRAD_TRANSFORMS_INL
#endif

#include "hwy/highway.h"
#include "layers/winograd/lanes-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace plait::winograd {
namespace HWY_NAMESPACE {

// Every tiling has: kSrc inputs per row of a tile, the first one at kOffset from the tile's first
// output, kPoints products, kDst outputs.

// Interpolation at 0, 1, -1 and infinity.
struct F2 {
  static constexpr int kSrc = 4, kOffset = -1, kPoints = 4, kDst = 2;

  static HWY_INLINE void src(const Lanes* d, Lanes* v) {
    v[0] = d[0] - d[2];
    v[1] = d[1] + d[2];
    v[2] = d[2] - d[1];
    v[3] = d[3] - d[1];
  }
  static HWY_INLINE void weights(const Lanes* g, Lanes* u) {
    const Lanes half = set(0.5f);
    const Lanes even = (g[0] + g[2]) * half;
    u[0] = g[0];
    u[1] = mul_add(g[1], half, even);
    u[2] = neg_mul_add(g[1], half, even);
    u[3] = g[2];
  }
  static HWY_INLINE void dst(const Lanes* m, Lanes* y) {
    y[0] = m[0] + (m[1] + m[2]);
    y[1] = (m[1] - m[2]) + m[3];
  }
  static HWY_INLINE void diff_dst(const Lanes* y, Lanes* m) {
    m[0] = y[0];
    m[1] = y[0] + y[1];
    m[2] = y[0] - y[1];
    m[3] = y[1];
  }
  static HWY_INLINE void diff_weights(const Lanes* u, Lanes* g) {
    const Lanes half = set(0.5f);
    const Lanes even = (u[1] + u[2]) * half;
    g[0] = u[0] + even;
    g[1] = (u[1] - u[2]) * half;
    g[2] = even + u[3];
  }
};

// Interpolation at 0, a, -a, b, -b and infinity. The largest errors are about a quarter of
// those with the usual a = 1, b = 2.
struct F4 {
  static constexpr int kSrc = 6, kOffset = -1, kPoints = 6, kDst = 4;
  static constexpr double a = 0.625, b = 1.5, a2 = a * a, b2 = b * b;
  // Products of the differences of one point to the others; rows of G are divided by them.
  static constexpr double norm0 = a2 * b2, norm_a = 2 * a2 * (a2 - b2), norm_b = 2 * b2 * (b2 - a2);

  static HWY_INLINE Lanes c(double x) { return set(static_cast<float>(x)); }

  static HWY_INLINE void src(const Lanes* d, Lanes* v) {
    const Lanes even_a = neg_mul_add(c(b2), d[2], d[4]);
    const Lanes odd_a = neg_mul_add(c(b2), d[1], d[3]);
    const Lanes even_b = neg_mul_add(c(a2), d[2], d[4]);
    const Lanes odd_b = neg_mul_add(c(a2), d[1], d[3]);
    v[0] = mul_add(c(a2 * b2), d[0], neg_mul_add(c(a2 + b2), d[2], d[4]));
    v[1] = mul_add(c(a), odd_a, even_a);
    v[2] = neg_mul_add(c(a), odd_a, even_a);
    v[3] = mul_add(c(b), odd_b, even_b);
    v[4] = neg_mul_add(c(b), odd_b, even_b);
    v[5] = mul_add(c(a2 * b2), d[1], neg_mul_add(c(a2 + b2), d[3], d[5]));
  }
  static HWY_INLINE void weights(const Lanes* g, Lanes* u) {
    const Lanes even_a = mul_add(c(a2 / norm_a), g[2], c(1 / norm_a) * g[0]);
    const Lanes even_b = mul_add(c(b2 / norm_b), g[2], c(1 / norm_b) * g[0]);
    u[0] = c(1 / norm0) * g[0];
    u[1] = mul_add(c(a / norm_a), g[1], even_a);
    u[2] = neg_mul_add(c(a / norm_a), g[1], even_a);
    u[3] = mul_add(c(b / norm_b), g[1], even_b);
    u[4] = neg_mul_add(c(b / norm_b), g[1], even_b);
    u[5] = g[2];
  }
  static HWY_INLINE void dst(const Lanes* m, Lanes* y) {
    const Lanes even_a = m[1] + m[2], odd_a = m[1] - m[2];
    const Lanes even_b = m[3] + m[4], odd_b = m[3] - m[4];
    y[0] = m[0] + (even_a + even_b);
    y[1] = mul_add(c(b), odd_b, c(a) * odd_a);
    y[2] = mul_add(c(b2), even_b, c(a2) * even_a);
    y[3] = mul_add(c(b2 * b), odd_b, mul_add(c(a2 * a), odd_a, m[5]));
  }
  static HWY_INLINE void diff_dst(const Lanes* y, Lanes* m) {
    const Lanes even_a = mul_add(c(a2), y[2], y[0]), odd_a = mul_add(c(a2), y[3], y[1]);
    const Lanes even_b = mul_add(c(b2), y[2], y[0]), odd_b = mul_add(c(b2), y[3], y[1]);
    m[0] = y[0];
    m[1] = mul_add(c(a), odd_a, even_a);
    m[2] = neg_mul_add(c(a), odd_a, even_a);
    m[3] = mul_add(c(b), odd_b, even_b);
    m[4] = neg_mul_add(c(b), odd_b, even_b);
    m[5] = y[3];
  }
  static HWY_INLINE void diff_weights(const Lanes* u, Lanes* g) {
    const Lanes even_a = u[1] + u[2], odd_a = u[1] - u[2];
    const Lanes even_b = u[3] + u[4], odd_b = u[3] - u[4];
    g[0] = mul_add(c(1 / norm0), u[0], mul_add(c(1 / norm_a), even_a, c(1 / norm_b) * even_b));
    g[1] = mul_add(c(a / norm_a), odd_a, c(b / norm_b) * odd_b);
    g[2] = mul_add(c(a2 / norm_a), even_a, mul_add(c(b2 / norm_b), even_b, u[5]));
  }
};

// Two pixels between zeros: y0 = g1 d0 + g2 d1 and y1 = g0 d0 + g1 d1, with three products.
struct Image2x2 {
  static constexpr int kSrc = 2, kOffset = 0, kPoints = 3, kDst = 2;

  static HWY_INLINE void src(const Lanes* d, Lanes* v) {
    v[0] = d[0] + d[1];
    v[1] = d[1];
    v[2] = d[0];
  }
  static HWY_INLINE void weights(const Lanes* g, Lanes* u) {
    u[0] = g[1];
    u[1] = g[2] - g[1];
    u[2] = g[0] - g[1];
  }
  static HWY_INLINE void dst(const Lanes* m, Lanes* y) {
    y[0] = m[0] + m[1];
    y[1] = m[0] + m[2];
  }
  static HWY_INLINE void diff_dst(const Lanes* y, Lanes* m) {
    m[0] = y[0] + y[1];
    m[1] = y[0];
    m[2] = y[1];
  }
  static HWY_INLINE void diff_weights(const Lanes* u, Lanes* g) {
    g[0] = u[2];
    g[1] = u[0] - (u[1] + u[2]);
    g[2] = u[1];
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace plait::winograd
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
