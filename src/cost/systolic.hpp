// Costs in clock cycles of a systolic array: what published work on pipelines of accelerators
// counts. Only products are counted; everything else takes no time.
#pragma once

#include <string_view>

#include "cost/cost_model.hpp"

namespace plait::cost {

/// Multiply-add units, and how fast they are clocked.
struct SystolicArray {
  std::int64_t rows = 128;
  std::int64_t columns = 128;
  double clocks_per_second = 1e9;
};

/// "128x128". UserError on anything else, naming `field`.
SystolicArray parse_systolic_array(std::string_view text, std::string_view field);

/// The product of m x k and k x n on an array that keeps a tile of the result: every tile of rows x
/// columns takes k clocks, and rows + columns - 2 until the first operands have crossed the array
/// and the last ones have.
double systolic_cycles(const SystolicArray& array, double m, double k, double n);

/// Every block with weights is three products, P being the samples x positions of its result, K
/// what a result sums over, N its channels and C the channels of its source:
///   forward           P x K x N
///   backward_data     P x (K N / C) x C
///   backward_weights  K x P x N
/// Groups are products of their own; a transposed convolution is the convolution that it transposes
/// with forward and backward_data exchanged. UserError where the layers are not known, where one is
/// sparse, and where nothing is multiplied.
std::unique_ptr<CostModel> make_systolic_cost(const plan::Network& network,
                                              const SystolicArray& array);

}  // namespace plait::cost
