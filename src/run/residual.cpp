// Sums squares in parallel pieces, and these in a fixed order.
#include "run/residual.hpp"

#include <algorithm>
#include <cmath>

namespace plait::run {

namespace {

constexpr std::size_t kPiece = 16384;  // floats

ResidualSums squares(const float* difference, const float* other, std::size_t count) {
  float of_difference = 0;
  float of_other = 0;
#pragma omp simd reduction(+ : of_difference, of_other)
  for (std::size_t i = 0; i < count; ++i) {
    of_difference += difference[i] * difference[i];
    of_other += other[i] * other[i];
  }
  return {of_difference, of_other};
}

}  // namespace

double ResidualSums::residual() const {
  return difference == 0 ? 0 : std::sqrt(difference / other);
}

void add_residual(const ResidualArgs& args, ResidualSums& sums) {
  std::vector<ResidualSums> pieces((args.count + kPiece - 1) / kPiece);
#pragma omp parallel for num_threads(args.threads) if (args.threads > 1) schedule(static)
  for (std::size_t piece = 0; piece < pieces.size(); ++piece) {
    const std::size_t first = piece * kPiece;
    pieces[piece] =
        squares(args.difference + first, args.other + first, std::min(kPiece, args.count - first));
  }
  for (const ResidualSums& piece : pieces) {
    sums.difference += piece.difference;
    sums.other += piece.other;
  }
}

std::vector<Residual> residuals(const plan::Network& network,
                                const std::vector<ResidualSums>& sums) {
  std::vector<Residual> all;
  for (std::size_t i = 0; i < network.blocks.size(); ++i) {
    if (network.blocks[i].is_difference()) {
      all.push_back({network.blocks[i].name, sums[i].residual()});
    }
  }
  return all;
}

}  // namespace plait::run
