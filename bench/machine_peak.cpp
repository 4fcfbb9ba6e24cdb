// machine_peak: the best of many looks at fma_peak, as one JSON object.
#include <fmt/core.h>

#include <algorithm>

#include "fma_peak.hpp"

int main() {
  double peak = 0;
  for (int i = 0; i < 500; ++i) peak = std::max(peak, plait::bench::fma_peak());
  fmt::print("{{\"fma_per_second\": {}}}\n", peak);
}
