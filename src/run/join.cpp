// Adds and subtracts in parallel pieces, and sums squares of the differences in a fixed order.
#include "run/join.hpp"

#include <omp.h>

#include <algorithm>
#include <cmath>

namespace plait::run {

namespace {

constexpr std::size_t kPiece = 16384;  // floats; fits the first cache

/// body(piece, first, last) over the pieces of 0 .. count.
template <class Body>
void each_piece(std::size_t count, int threads, const Body& body) {
  const auto pieces = static_cast<std::int64_t>((count + kPiece - 1) / kPiece);
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
  for (std::int64_t piece = 0; piece < pieces; ++piece) {
    const std::size_t first = static_cast<std::size_t>(piece) * kPiece;
    body(static_cast<std::size_t>(piece), first, std::min(count, first + kPiece));
  }
}

ResidualSums subtract(const JoinArgs& args, std::size_t first, std::size_t last) {
  float difference = 0;
  float other = 0;
#pragma omp simd reduction(+ : difference, other)
  for (std::size_t i = first; i < last; ++i) {
    const float x = args.other[i];
    const float d = args.src[i] - x;
    args.dst[i] = d;
    difference += d * d;
    other += x * x;
  }
  return {difference, other};
}

}  // namespace

double ResidualSums::residual() const {
  return difference == 0 ? 0 : std::sqrt(difference / other);
}

ResidualSums join_forward(const plan::NetworkBlock& block, const JoinArgs& args) {
  if (!block.subtracts()) {
    each_piece(args.count, args.threads, [&](std::size_t, std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i) args.dst[i] = args.src[i] + args.other[i];
    });
    return {};
  }
  std::vector<ResidualSums> pieces((args.count + kPiece - 1) / kPiece);
  each_piece(args.count, args.threads, [&](std::size_t piece, std::size_t first, std::size_t last) {
    pieces[piece] = subtract(args, first, last);
  });
  ResidualSums sums;
  for (const ResidualSums& piece : pieces) {
    sums.difference += piece.difference;
    sums.other += piece.other;
  }
  return sums;
}

void join_backward(const plan::NetworkBlock& block, int tensor, const JoinArgs& args) {
  const bool minus = block.subtracts() && tensor == block.srcs[1];
  each_piece(args.count, args.threads, [&](std::size_t, std::size_t first, std::size_t last) {
    if (minus) {
      for (std::size_t i = first; i < last; ++i) args.dst[i] -= args.src[i];
    } else {
      for (std::size_t i = first; i < last; ++i) args.dst[i] += args.src[i];
    }
  });
}

std::vector<Residual> residuals(const plan::Network& network,
                                const std::vector<ResidualSums>& sums) {
  std::vector<Residual> all;
  for (std::size_t i = 0; i < network.blocks.size(); ++i) {
    if (network.blocks[i].subtracts()) {
      all.push_back({network.blocks[i].name, sums[i].residual()});
    }
  }
  return all;
}

}  // namespace plait::run
