// The gradient of each activation from the layer's output, vectorised with Highway.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/sparse/activation.cpp"
#include <hwy/foreach_target.h>
// after foreach_target, by Highway's rule
#include <hwy/highway.h>

#include <algorithm>

#include "kernels/sparse/activation.hpp"

HWY_BEFORE_NAMESPACE();
namespace plait::kernels::sparse::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::CappedTag<float, 16>;
using Vec = hn::Vec<Tag>;

/// gradient(dst, diff_dst) for [0, size), a multiple of 16.
template <class Gradient>
HWY_INLINE void each_vector(const float* dst, const float* diff_dst, float* delta,
                            std::int64_t size, const Gradient& gradient) {
  const Tag d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t i = 0; i < size; i += lanes) {
    hn::Store(gradient(hn::Load(d, dst + i), hn::Load(d, diff_dst + i)), d, delta + i);
  }
}

void gradient_part(const Activation& activation, const float* dst, const float* diff_dst,
                   float* delta, std::int64_t size) {
  const Tag d;
  const Vec zero = hn::Zero(d);
  const Vec ceiling = hn::Set(d, activation.ceiling);
  switch (activation.kind) {
    case ActivationKind::none:
      if (delta != diff_dst) std::copy_n(diff_dst, size, delta);
      return;
    case ActivationKind::relu:
      return each_vector(dst, diff_dst, delta, size, [=](Vec y, Vec g) HWY_ATTR {
        return hn::IfThenElseZero(hn::Gt(y, zero), g);
      });
    case ActivationKind::tanh:
      return each_vector(dst, diff_dst, delta, size, [=](Vec y, Vec g) HWY_ATTR {
        return hn::Mul(g, hn::NegMulAdd(y, y, hn::Set(d, 1.0F)));
      });
    case ActivationKind::clip:
      return each_vector(dst, diff_dst, delta, size, [=](Vec y, Vec g) HWY_ATTR {
        return hn::IfThenElseZero(hn::And(hn::Gt(y, zero), hn::Lt(y, ceiling)), g);
      });
  }
}

}  // namespace plait::kernels::sparse::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plait::kernels::sparse {

HWY_EXPORT(gradient_part);

void activation_gradient(const Activation& activation, const float* dst, const float* diff_dst,
                         float* delta, std::int64_t size, int threads) {
  constexpr std::int64_t kPart = 16 * 1024;
#pragma omp parallel for num_threads(threads) schedule(static)
  for (std::int64_t begin = 0; begin < size; begin += kPart) {
    HWY_DYNAMIC_DISPATCH(gradient_part)
    (activation, dst + begin, diff_dst + begin, delta + begin, std::min(kPart, size - begin));
  }
}

}  // namespace plait::kernels::sparse
#endif
