// Eight fp32 lanes, the innermost dimension of every tensor here, as one value type on every vector
// width: one 256-bit vector where there is one, several narrower ones elsewhere.
//
// Included once per target; see Highway's documentation of foreach_target.h.
#if defined(PLAIT_LAYERS_WINOGRAD_LANES_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef PLAIT_LAYERS_WINOGRAD_LANES_INL
#undef PLAIT_LAYERS_WINOGRAD_LANES_INL
#else
#define PLAIT_LAYERS_WINOGRAD_LANES_INL
#endif

#include <cstddef>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace plait::kernels::winograd {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_HAVE_SCALABLE  // vectors of unknown size cannot be members: left to the compiler

struct Lanes {
  float part[8];
};
constexpr std::size_t kParts = 8;
constexpr std::size_t kPartLanes = 1;
HWY_INLINE float load_part(const float* p) { return *p; }
HWY_INLINE void store_part(float v, float* p) { *p = v; }
HWY_INLINE float set_part(float x) { return x; }
HWY_INLINE float add_part(float a, float b) { return a + b; }
HWY_INLINE float sub_part(float a, float b) { return a - b; }
HWY_INLINE float mul_part(float a, float b) { return a * b; }
HWY_INLINE float mul_add_part(float a, float b, float c) { return a * b + c; }
HWY_INLINE float neg_mul_add_part(float a, float b, float c) { return c - a * b; }

#else

using PartTag = hn::CappedTag<float, 8>;
using Part = hn::Vec<PartTag>;
constexpr std::size_t kPartLanes = hn::MaxLanes(PartTag());
constexpr std::size_t kParts = 8 / kPartLanes;
struct Lanes {
  Part part[kParts];
};
HWY_INLINE Part load_part(const float* p) { return hn::Load(PartTag(), p); }
HWY_INLINE void store_part(Part v, float* p) { hn::Store(v, PartTag(), p); }
HWY_INLINE Part set_part(float x) { return hn::Set(PartTag(), x); }
HWY_INLINE Part add_part(Part a, Part b) { return hn::Add(a, b); }
HWY_INLINE Part sub_part(Part a, Part b) { return hn::Sub(a, b); }
HWY_INLINE Part mul_part(Part a, Part b) { return hn::Mul(a, b); }
HWY_INLINE Part mul_add_part(Part a, Part b, Part c) { return hn::MulAdd(a, b, c); }
HWY_INLINE Part neg_mul_add_part(Part a, Part b, Part c) { return hn::NegMulAdd(a, b, c); }

#endif

// p is aligned to 32 bytes.
HWY_INLINE Lanes load(const float* p) {
  Lanes r;
  for (std::size_t i = 0; i < kParts; ++i) r.part[i] = load_part(p + i * kPartLanes);
  return r;
}

HWY_INLINE void store(const Lanes& v, float* p) {
  for (std::size_t i = 0; i < kParts; ++i) store_part(v.part[i], p + i * kPartLanes);
}

HWY_INLINE Lanes set(float x) {
  Lanes r;
  for (std::size_t i = 0; i < kParts; ++i) r.part[i] = set_part(x);
  return r;
}

HWY_INLINE Lanes operator+(const Lanes& a, const Lanes& b) {
  Lanes r;
  for (std::size_t i = 0; i < kParts; ++i) r.part[i] = add_part(a.part[i], b.part[i]);
  return r;
}

HWY_INLINE Lanes operator-(const Lanes& a, const Lanes& b) {
  Lanes r;
  for (std::size_t i = 0; i < kParts; ++i) r.part[i] = sub_part(a.part[i], b.part[i]);
  return r;
}

HWY_INLINE Lanes operator*(const Lanes& a, const Lanes& b) {
  Lanes r;
  for (std::size_t i = 0; i < kParts; ++i) r.part[i] = mul_part(a.part[i], b.part[i]);
  return r;
}

// a * b + c
HWY_INLINE Lanes mul_add(const Lanes& a, const Lanes& b, const Lanes& c) {
  Lanes r;
  for (std::size_t i = 0; i < kParts; ++i) {
    r.part[i] = mul_add_part(a.part[i], b.part[i], c.part[i]);
  }
  return r;
}

// c - a * b
HWY_INLINE Lanes neg_mul_add(const Lanes& a, const Lanes& b, const Lanes& c) {
  Lanes r;
  for (std::size_t i = 0; i < kParts; ++i) {
    r.part[i] = neg_mul_add_part(a.part[i], b.part[i], c.part[i]);
  }
  return r;
}

// to[j * 8 + i] = from[i * 8 + j]
HWY_INLINE void transpose_8x8(const float* from, float* to) {
#if !HWY_HAVE_SCALABLE && HWY_MAX_BYTES >= 32
  const PartTag d;
  const hn::RepartitionToWide<PartTag> w;
  Part half[8];  // half[i + j]: in its two halves, columns j and j + 4 of rows i .. i + 3
  for (std::size_t i = 0; i < 8; i += 4) {
    const Part r0 = hn::Load(d, from + i * 8);
    const Part r1 = hn::Load(d, from + i * 8 + 8);
    const Part r2 = hn::Load(d, from + i * 8 + 16);
    const Part r3 = hn::Load(d, from + i * 8 + 24);
    const auto lo01 = hn::BitCast(w, hn::InterleaveLower(d, r0, r1));
    const auto hi01 = hn::BitCast(w, hn::InterleaveUpper(d, r0, r1));
    const auto lo23 = hn::BitCast(w, hn::InterleaveLower(d, r2, r3));
    const auto hi23 = hn::BitCast(w, hn::InterleaveUpper(d, r2, r3));
    half[i + 0] = hn::BitCast(d, hn::InterleaveLower(w, lo01, lo23));
    half[i + 1] = hn::BitCast(d, hn::InterleaveUpper(w, lo01, lo23));
    half[i + 2] = hn::BitCast(d, hn::InterleaveLower(w, hi01, hi23));
    half[i + 3] = hn::BitCast(d, hn::InterleaveUpper(w, hi01, hi23));
  }
  for (std::size_t j = 0; j < 4; ++j) {
    hn::Store(hn::ConcatLowerLower(d, half[j + 4], half[j]), d, to + j * 8);
    hn::Store(hn::ConcatUpperUpper(d, half[j + 4], half[j]), d, to + (j + 4) * 8);
  }
#else
  for (std::size_t i = 0; i < 8; ++i) {
    for (std::size_t j = 0; j < 8; ++j) to[j * 8 + i] = from[i * 8 + j];
  }
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace plait::kernels::winograd
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
