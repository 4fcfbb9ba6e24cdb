// The one-dimensional transforms of each tiling, on eight channels at a time; a tile's transform is
// the one-dimensional one along its rows, then along its columns. With d, g, y for a row of src,
// weights and dst:
//
//   y = A^T [(G g) . (B^T d)]         its adjoints: dg = G^T [(B^T d) . (A dy)]
//
// src: d -> B^T d, weights: g -> G g, dst: m -> A^T m, diff_dst: dy -> A dy, diff_weights: G^T,
// diff_src (where it is needed): B.
#if defined(PLAIT_LAYERS_WINOGRAD_TRANSFORMS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef PLAIT_LAYERS_WINOGRAD_TRANSFORMS_INL
#undef PLAIT_LAYERS_WINOGRAD_TRANSFORMS_INL
#else
#define PLAIT_LAYERS_WINOGRAD_TRANSFORMS_INL
#endif

#include "hwy/highway.h"
#include "kernels/winograd/lanes-inl.hpp"
#include "kernels/winograd/tiling.hpp"
#include "kernels/winograd/transforms_f4_5x5-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace plait::kernels::winograd {
namespace HWY_NAMESPACE {

// Every tiling has: kTaps weights per row of a kernel, kSrc inputs per row of a tile, kPoints
// products, kDst outputs. kSkip inputs before them are left out, being known to be zero.

// Interpolation at 0, 1, -1 and infinity.
struct F2 {
  static constexpr int kTaps = 3, kSrc = 4, kSkip = 0, kPoints = 4, kDst = 2;

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

// Interpolation at 0, a, -a, b, -b and infinity, common to F4 and F2By5. The largest errors of F4
// are about a quarter of those with the usual a = 1, b = 2.
struct SixPoints {
  static constexpr int kSrc = 6, kSkip = 0, kPoints = 6;
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
  static HWY_INLINE void diff_src(const Lanes* v, Lanes* d) {
    const Lanes even_a = v[1] + v[2], odd_a = v[1] - v[2];
    const Lanes even_b = v[3] + v[4], odd_b = v[3] - v[4];
    d[0] = c(a2 * b2) * v[0];
    d[1] = neg_mul_add(c(a * b2), odd_a, neg_mul_add(c(b * a2), odd_b, c(a2 * b2) * v[5]));
    d[2] = neg_mul_add(c(b2), even_a, neg_mul_add(c(a2), even_b, c(-a2 - b2) * v[0]));
    d[3] = mul_add(c(a), odd_a, mul_add(c(b), odd_b, c(-a2 - b2) * v[5]));
    d[4] = v[0] + (even_a + even_b);
    d[5] = v[5];
  }
};

struct F4 : SixPoints {
  static constexpr int kTaps = 3, kDst = 4;

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

struct F2By5 : SixPoints {
  static constexpr int kTaps = 5, kDst = 2;
  static constexpr double a4 = a2 * a2, b4 = b2 * b2;

  static HWY_INLINE void weights(const Lanes* g, Lanes* u) {
    const Lanes even_a =
        mul_add(c(a4 / norm_a), g[4], mul_add(c(a2 / norm_a), g[2], c(1 / norm_a) * g[0]));
    const Lanes even_b =
        mul_add(c(b4 / norm_b), g[4], mul_add(c(b2 / norm_b), g[2], c(1 / norm_b) * g[0]));
    const Lanes odd_a = mul_add(c(a2), g[3], g[1]), odd_b = mul_add(c(b2), g[3], g[1]);
    u[0] = c(1 / norm0) * g[0];
    u[1] = mul_add(c(a / norm_a), odd_a, even_a);
    u[2] = neg_mul_add(c(a / norm_a), odd_a, even_a);
    u[3] = mul_add(c(b / norm_b), odd_b, even_b);
    u[4] = neg_mul_add(c(b / norm_b), odd_b, even_b);
    u[5] = g[4];
  }
  static HWY_INLINE void dst(const Lanes* m, Lanes* y) {
    y[0] = m[0] + ((m[1] + m[2]) + (m[3] + m[4]));
    y[1] = mul_add(c(b), m[3] - m[4], mul_add(c(a), m[1] - m[2], m[5]));
  }
  static HWY_INLINE void diff_dst(const Lanes* y, Lanes* m) {
    m[0] = y[0];
    m[1] = mul_add(c(a), y[1], y[0]);
    m[2] = neg_mul_add(c(a), y[1], y[0]);
    m[3] = mul_add(c(b), y[1], y[0]);
    m[4] = neg_mul_add(c(b), y[1], y[0]);
    m[5] = y[1];
  }
  static HWY_INLINE void diff_weights(const Lanes* u, Lanes* g) {
    const Lanes even_a = c(1 / norm_a) * (u[1] + u[2]), odd_a = c(a / norm_a) * (u[1] - u[2]);
    const Lanes even_b = c(1 / norm_b) * (u[3] + u[4]), odd_b = c(b / norm_b) * (u[3] - u[4]);
    g[0] = mul_add(c(1 / norm0), u[0], even_a + even_b);
    g[1] = odd_a + odd_b;
    g[2] = mul_add(c(a2), even_a, c(b2) * even_b);
    g[3] = mul_add(c(a2), odd_a, c(b2) * odd_b);
    g[4] = mul_add(c(a4), even_a, mul_add(c(b4), even_b, u[5]));
  }
};

// Two pixels between zeros: y0 = g1 d0 + g2 d1 and y1 = g0 d0 + g1 d1, with three products.
struct Image2x2 {
  static constexpr int kTaps = 3, kSrc = 2, kSkip = 1, kPoints = 3, kDst = 2;

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

// Calls f with a value of the tiling's type.
template <class F>
HWY_INLINE void with_transforms(Tiling tiling, F f) {
  switch (tiling) {
    case Tiling::f2: return f(F2());
    case Tiling::f4: return f(F4());
    case Tiling::image2x2: return f(Image2x2());
    case Tiling::f2_5x5: return f(F2By5());
    case Tiling::f4_5x5: return f(F4By5());
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace plait::kernels::winograd
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
