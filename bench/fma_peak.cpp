#include "fma_peak.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "fma_peak.cpp"
#include <hwy/foreach_target.h>
// after foreach_target, by Highway's rule
#include <hwy/highway.h>

#include <chrono>

HWY_BEFORE_NAMESPACE();
namespace plait::bench::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// 12 sums hide the latency of two ports. Returns the multiply-adds, and a result to keep them.
double chains(long long rounds, float* result) {
  const hn::ScalableTag<float> d;
  const auto factor = hn::Set(d, result[0]);
  const auto term = hn::Set(d, result[1]);
  // different starts: equal chains would be one to the compiler
  const auto start = [&](float value) HWY_ATTR { return hn::Set(d, value * result[0]); };
  auto a = start(1), b = start(2), c = start(3), e = start(4), f = start(5), g = start(6);
  auto h = start(7), i = start(8), j = start(9), k = start(10), l = start(11), m = start(12);
  for (long long round = 0; round < rounds; ++round) {
    a = hn::MulAdd(a, factor, term), b = hn::MulAdd(b, factor, term);
    c = hn::MulAdd(c, factor, term), e = hn::MulAdd(e, factor, term);
    f = hn::MulAdd(f, factor, term), g = hn::MulAdd(g, factor, term);
    h = hn::MulAdd(h, factor, term), i = hn::MulAdd(i, factor, term);
    j = hn::MulAdd(j, factor, term), k = hn::MulAdd(k, factor, term);
    l = hn::MulAdd(l, factor, term), m = hn::MulAdd(m, factor, term);
  }
  a = hn::Add(hn::Add(a, b), hn::Add(c, e)), f = hn::Add(hn::Add(f, g), hn::Add(h, i));
  j = hn::Add(hn::Add(j, k), hn::Add(l, m));
  result[2] = hn::GetLane(hn::Add(hn::Add(a, f), j));
  return 12.0 * static_cast<double>(hn::Lanes(d)) * static_cast<double>(rounds);
}

}  // namespace plait::bench::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plait::bench {

HWY_EXPORT(chains);

double fma_peak() {
  volatile float half = 0.5F;
  float values[3] = {half, half, 0};
  const auto start = std::chrono::steady_clock::now();
  const double count = HWY_DYNAMIC_DISPATCH(chains)(30000, values);
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  half = values[2];
  return count / time.count();
}

}  // namespace plait::bench
#endif
