// The one-dimensional transforms of F(4x4, 5x5); see transforms-inl.hpp, which includes this file.
#if defined(PLAIT_LAYERS_WINOGRAD_TRANSFORMS_F4_5X5_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef PLAIT_LAYERS_WINOGRAD_TRANSFORMS_F4_5X5_INL
#undef PLAIT_LAYERS_WINOGRAD_TRANSFORMS_F4_5X5_INL
#else
#define PLAIT_LAYERS_WINOGRAD_TRANSFORMS_F4_5X5_INL
#endif

#include "hwy/highway.h"
#include "kernels/winograd/lanes-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace plait::kernels::winograd {
namespace HWY_NAMESPACE {

// A pair of points p, -p out of three pairs, the others being +-q and +-r.
struct PointPair {
  double p, p2, p4;
  double sum, product;  // of q^2 and r^2
  double norm;          // product of the differences of p, or -p, to the other points

  constexpr PointPair(double p_, double q, double r)
      : p(p_),
        p2(p_ * p_),
        p4(p2 * p2),
        sum(q * q + r * r),
        product(q * q * r * r),
        norm(2 * p2 * (p2 - q * q) * (p2 - r * r)) {}
};

// Interpolation at 0, a, -a, b, -b, c, -c and infinity. A scan in steps of 1/16 (a) and
// 1/8 (b, c) found no better ones; errors are about four times those of F4 and F2By5.
struct F4By5 {
  static constexpr int kTaps = 5, kSrc = 8, kSkip = 0, kPoints = 8, kDst = 4;
  static constexpr double a = 0.5, b = 1, c = 2;
  static constexpr PointPair A{a, b, c}, B{b, a, c}, C{c, a, b};
  // (x^2 - a^2)(x^2 - b^2)(x^2 - c^2) = x^6 - e1 x^4 + e2 x^2 - e3
  static constexpr double e1 = A.p2 + B.p2 + C.p2, e2 = A.product + B.product + C.product,
                          e3 = A.p2 * B.p2 * C.p2;
  static constexpr double norm0 = -e3;

  static HWY_INLINE Lanes f(double x) { return set(static_cast<float>(x)); }

  static HWY_INLINE void src(const Lanes* d, Lanes* v) {
    v[0] = neg_mul_add(f(e3), d[0], mul_add(f(e2), d[2], neg_mul_add(f(e1), d[4], d[6])));
    src_pair(A, d, v + 1);
    src_pair(B, d, v + 3);
    src_pair(C, d, v + 5);
    v[7] = neg_mul_add(f(e3), d[1], mul_add(f(e2), d[3], neg_mul_add(f(e1), d[5], d[7])));
  }
  static HWY_INLINE void diff_src(const Lanes* v, Lanes* d) {
    const Lanes even_a = v[1] + v[2], odd_a = f(a) * (v[1] - v[2]);
    const Lanes even_b = v[3] + v[4], odd_b = f(b) * (v[3] - v[4]);
    const Lanes even_c = v[5] + v[6], odd_c = f(c) * (v[5] - v[6]);
    d[0] = f(-e3) * v[0];
    d[1] = products(odd_a, odd_b, odd_c, f(-e3) * v[7]);
    d[2] = products(even_a, even_b, even_c, f(e2) * v[0]);
    d[3] = minus_sums(odd_a, odd_b, odd_c, f(e2) * v[7]);
    d[4] = minus_sums(even_a, even_b, even_c, f(-e1) * v[0]);
    d[5] = neg_mul_add(f(e1), v[7], odd_a + odd_b + odd_c);
    d[6] = v[0] + (even_a + even_b + even_c);
    d[7] = v[7];
  }
  static HWY_INLINE void weights(const Lanes* g, Lanes* u) {
    u[0] = f(1 / norm0) * g[0];
    weights_pair(A, g, u + 1);
    weights_pair(B, g, u + 3);
    weights_pair(C, g, u + 5);
    u[7] = g[4];
  }
  static HWY_INLINE void dst(const Lanes* m, Lanes* y) {
    const Lanes even_a = m[1] + m[2], odd_a = f(a) * (m[1] - m[2]);
    const Lanes even_b = m[3] + m[4], odd_b = f(b) * (m[3] - m[4]);
    const Lanes even_c = m[5] + m[6], odd_c = f(c) * (m[5] - m[6]);
    y[0] = m[0] + (even_a + even_b + even_c);
    y[1] = odd_a + odd_b + odd_c;
    y[2] = squares(even_a, even_b, f(C.p2) * even_c);
    y[3] = squares(odd_a, odd_b, mul_add(f(C.p2), odd_c, m[7]));
  }
  static HWY_INLINE void diff_dst(const Lanes* y, Lanes* m) {
    m[0] = y[0];
    diff_dst_pair(A, y, m + 1);
    diff_dst_pair(B, y, m + 3);
    diff_dst_pair(C, y, m + 5);
    m[7] = y[3];
  }
  static HWY_INLINE void diff_weights(const Lanes* u, Lanes* g) {
    const Lanes even_a = f(1 / A.norm) * (u[1] + u[2]), odd_a = f(a / A.norm) * (u[1] - u[2]);
    const Lanes even_b = f(1 / B.norm) * (u[3] + u[4]), odd_b = f(b / B.norm) * (u[3] - u[4]);
    const Lanes even_c = f(1 / C.norm) * (u[5] + u[6]), odd_c = f(c / C.norm) * (u[5] - u[6]);
    g[0] = mul_add(f(1 / norm0), u[0], even_a + even_b + even_c);
    g[1] = odd_a + odd_b + odd_c;
    g[2] = squares(even_a, even_b, f(C.p2) * even_c);
    g[3] = squares(odd_a, odd_b, f(C.p2) * odd_c);
    g[4] = mul_add(f(A.p4), even_a, mul_add(f(B.p4), even_b, mul_add(f(C.p4), even_c, u[7])));
  }

 private:
  // Results for p and -p.
  static HWY_INLINE void pair(double p, const Lanes& odd, const Lanes& even, Lanes* to) {
    to[0] = mul_add(f(p), odd, even);
    to[1] = neg_mul_add(f(p), odd, even);
  }
  static HWY_INLINE void src_pair(const PointPair& x, const Lanes* d, Lanes* v) {
    const Lanes sum = f(x.sum), product = f(x.product);
    pair(x.p, mul_add(product, d[1], neg_mul_add(sum, d[3], d[5])),
         mul_add(product, d[2], neg_mul_add(sum, d[4], d[6])), v);
  }
  static HWY_INLINE void weights_pair(const PointPair& x, const Lanes* g, Lanes* u) {
    const Lanes even =
        mul_add(f(x.p4 / x.norm), g[4], mul_add(f(x.p2 / x.norm), g[2], f(1 / x.norm) * g[0]));
    pair(x.p / x.norm, mul_add(f(x.p2), g[3], g[1]), even, u);
  }
  static HWY_INLINE void diff_dst_pair(const PointPair& x, const Lanes* y, Lanes* m) {
    pair(x.p, mul_add(f(x.p2), y[3], y[1]), mul_add(f(x.p2), y[2], y[0]), m);
  }

  // Weighted sums over the pairs, plus `rest`.
  static HWY_INLINE Lanes squares(const Lanes& of_a, const Lanes& of_b, const Lanes& rest) {
    return mul_add(f(A.p2), of_a, mul_add(f(B.p2), of_b, rest));
  }
  static HWY_INLINE Lanes products(const Lanes& of_a, const Lanes& of_b, const Lanes& of_c,
                                   const Lanes& rest) {
    return mul_add(f(A.product), of_a,
                   mul_add(f(B.product), of_b, mul_add(f(C.product), of_c, rest)));
  }
  static HWY_INLINE Lanes minus_sums(const Lanes& of_a, const Lanes& of_b, const Lanes& of_c,
                                     const Lanes& rest) {
    return neg_mul_add(f(A.sum), of_a,
                       neg_mul_add(f(B.sum), of_b, neg_mul_add(f(C.sum), of_c, rest)));
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace plait::kernels::winograd
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
