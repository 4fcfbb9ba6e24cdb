// Rooflines of the three tasks of each block, from its MACs, parameters and activations.
#include "cost/analytic.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"

namespace plait::cost {

namespace {

/// max(arithmetic n, memory n + fixed).
struct Roofline {
  double arithmetic = 0;  ///< seconds per sample
  double memory = 0;      ///< seconds per sample
  double fixed = 0;       ///< seconds for the weights
  double of(std::int64_t samples) const {
    if (samples <= 0) return 0;
    const auto n = static_cast<double>(samples);
    return std::max(arithmetic * n, memory * n + fixed);
  }
};

struct BlockRooflines {
  Roofline forward;
  Roofline backward_data;
  Roofline backward_weights;
  double update = 0;
};

double tensor(const plan::Network& network, int index) {
  return static_cast<double>(network.tensors[static_cast<std::size_t>(index)]);
}

double seconds_of_memory(const AnalyticRates& rates, double elements) {
  return tensor::kFloatBytes * elements / rates.memory_bytes_per_second;
}

BlockRooflines rooflines(const plan::Network& network, const plan::NetworkBlock& block,
                         const AnalyticRates& rates) {
  const auto memory = [&](double elements) { return seconds_of_memory(rates, elements); };
  const double arithmetic =
      2 * static_cast<double>(block.macs) / (rates.flops_per_second * rates.efficiency);
  double src = 0;
  for (const int index : block.srcs) src += tensor(network, index);
  const double dst = tensor(network, block.dst);
  const auto inner = static_cast<double>(block.inner_elements);
  const auto parameters = static_cast<double>(block.parameters);
  const bool first =
      std::ranges::none_of(block.srcs, [&](int tensor) { return network.has_gradient(tensor); });
  BlockRooflines lines;
  if (block.is_join()) {  // two tensors read, one written; one gradient added to another
    lines.forward = lines.backward_data = {0, memory(src + dst), 0};
    return lines;
  }
  // src read, what lies inside and dst written, weights read.
  lines.forward = {arithmetic, memory(src + inner + dst), memory(parameters)};
  // diff_dst and what lies inside read, diff_src written, weights read.
  lines.backward_data = first ? Roofline{0, memory(dst + inner), 0}
                              : Roofline{arithmetic, memory(dst + inner + src), memory(parameters)};
  // diff_dst, what lies inside and src read, the gradient written.
  if (block.parameters > 0 && !block.traits.weights_read_src) {  // backward_data has made it
    lines.backward_weights = {0, 0, memory(2 * parameters)};
  } else if (block.parameters > 0) {
    lines.backward_weights = {arithmetic, memory(dst + inner + src), memory(parameters)};
  }
  lines.update = parameters * rates.update_bytes_per_parameter / rates.memory_bytes_per_second;
  return lines;
}

BlockSeconds seconds_of(const BlockRooflines& lines, std::int64_t samples) {
  return {.forward = lines.forward.of(samples),
          .backward_data = lines.backward_data.of(samples),
          .backward_weights = lines.backward_weights.of(samples),
          .update = lines.update};
}

class AnalyticCost final : public CostModel {
 public:
  AnalyticCost(const plan::Network& network, const AnalyticRates& rates) : rates_(rates) {
    for (const plan::NetworkBlock& block : network.blocks) {
      blocks_.push_back(rooflines(network, block, rates));
    }
    // Loss reads the logits, writes their gradient and passes over them twice more.
    if (network.size() > 0) loss_ = 4 * seconds_of_memory(rates, tensor(network, network.logits()));
    if (!network.tensors.empty()) load_ = 2 * seconds_of_memory(rates, tensor(network, 0));
  }

  BlockSeconds block(int block, std::int64_t samples) const override {
    return seconds_of(blocks_[static_cast<std::size_t>(block)], samples);
  }
  BlockSeconds added(const plan::Network& network, int block, std::int64_t samples) const override {
    return analytic_seconds(network, block, samples, rates_);
  }
  double loss(std::int64_t samples) const override { return loss_ * static_cast<double>(samples); }
  double load(std::int64_t samples) const override { return load_ * static_cast<double>(samples); }
  /// Reads every array, writes one.
  double sum(std::int64_t bytes, int arrays) const override {
    return static_cast<double>(bytes) * (arrays + 1.0) / rates_.memory_bytes_per_second;
  }
  double contention(int) const override { return 1; }
  std::string source() const override { return "analytic"; }

 private:
  AnalyticRates rates_;
  std::vector<BlockRooflines> blocks_;
  double loss_ = 0;  ///< seconds per sample
  double load_ = 0;
};

void check_rate(double rate, const char* name) {
  if (!(rate > 0) || !std::isfinite(rate)) {
    user_error("analytic cost: {} is {}; it must be a number above 0", name, rate);
  }
}

}  // namespace

BlockSeconds analytic_seconds(const plan::Network& network, int block, std::int64_t samples,
                              const AnalyticRates& rates) {
  return seconds_of(rooflines(network, network.blocks[static_cast<std::size_t>(block)], rates),
                    samples);
}

std::unique_ptr<CostModel> make_analytic_cost(const plan::Network& network,
                                              const AnalyticRates& rates) {
  check_rate(rates.flops_per_second, "flops_per_second");
  check_rate(rates.efficiency, "efficiency");
  check_rate(rates.memory_bytes_per_second, "memory_bytes_per_second");
  check_rate(rates.update_bytes_per_parameter, "update_bytes_per_parameter");
  return std::make_unique<AnalyticCost>(network, rates);
}

}  // namespace plait::cost
