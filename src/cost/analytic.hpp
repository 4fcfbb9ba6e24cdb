// Analytic cost: a roofline per block, counted from MACs and bytes. For planning before anything is
// measured: ratios between blocks are good, absolute seconds are a guess.
#pragma once

#include "cost/cost_model.hpp"

namespace plait::cost {

/// Defaults: one core of a CPU with AVX2 and two FMA units at 3 GHz.
struct AnalyticRates {
  double flops_per_second = 96e9;          ///< peak: 3 GHz x 8 lanes x 2 units x 2
  double efficiency = 0.6;                 ///< share of the peak that convolutions reach
  double memory_bytes_per_second = 10e9;   ///< one core alone on its memory channels
  double update_bytes_per_parameter = 20;  ///< SGD with momentum: reads 3 arrays, writes 2
};

/// Per block and n samples, max(arithmetic, memory):
///   arithmetic  2 macs n / (flops efficiency), each of the three tasks; none in backward_data of
///               the first block (src is tensor 0) and in backward_weights without parameters
///   memory      bytes read and written / memory rate
/// UserError unless all rates are positive.
std::unique_ptr<CostModel> make_analytic_cost(const plan::Network& network,
                                              const AnalyticRates& rates = {});

/// The same of one block alone.
BlockSeconds analytic_seconds(const plan::Network& network, int block, std::int64_t samples,
                              const AnalyticRates& rates = {});

}  // namespace plait::cost
