// The sum of squares in double over fixed chunks: the same bits for any number of threads.
#include "optim/clip.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace plait::optim {

namespace {

/// Fixed, so that the order of the sums is, too.
constexpr std::int64_t kSumChunk = 1 << 14;

double squares_of(const float* values, std::int64_t count) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < count; ++i) {
    const double value = values[i];
    sum += value * value;
  }
  return sum;
}

}  // namespace

double sum_of_squares(std::span<const std::span<const float>> gradients, int threads) {
  std::vector<std::span<const float>> chunks;
  for (std::span<const float> rest : gradients) {
    while (!rest.empty()) {
      const std::size_t count = std::min<std::size_t>(rest.size(), kSumChunk);
      chunks.push_back(rest.first(count));
      rest = rest.subspan(count);
    }
  }
  std::vector<double> sums(chunks.size());
  const auto count = static_cast<std::int64_t>(chunks.size());
  const int team = static_cast<int>(std::clamp<std::int64_t>(count, 1, std::max(threads, 1)));
#pragma omp parallel for num_threads(team) schedule(static) if (team > 1)
  for (std::int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    sums[at] = squares_of(chunks[at].data(), static_cast<std::int64_t>(chunks[at].size()));
  }
  double sum = 0;
  for (const double part : sums) sum += part;
  return sum;
}

double clip_factor(double norm, double max_norm) {
  const double factor = max_norm / (norm + 1e-6);
  return factor > 1 ? 1 : factor;
}

}  // namespace plait::optim
