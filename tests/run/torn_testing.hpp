// Torn networks with weights that are random everywhere: coarse parts begin at 0 otherwise, and
// nothing would be seen of them.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "cost/analytic.hpp"
#include "model/parameters.hpp"
#include "run/workspace.hpp"
#include "strategy/parareal/torn_network.hpp"
#include "strategy/strategy_testing.hpp"

namespace plait {

inline Tearing tearing_for(const Network& network, int pieces,
                           CoarseKind coarse = CoarseKind::block) {
  return tear(TornChain(network), *make_analytic_cost(network),
              {.pieces = pieces, .coarse = coarse});
}

inline TornNetwork torn_network(const Network& network, const Tearing& tearing, int sweeps,
                                Sweeping sweeping = Sweeping::all) {
  return tear_network(TornChain(network), tearing, sweeps, sweeping);
}

inline Tensor random_tensor(const Shape& shape, std::uint64_t seed, float size = 1) {
  Rng rng(seed, Purpose::test);
  Tensor tensor(shape);
  for (float& x : tensor.floats()) x = size * rng.normal();
  return tensor;
}

inline Tensor random_value(const ParameterSpec& parameter, std::uint64_t seed) {
  if (parameter.init != Init::constant) {
    return random_tensor(parameter.shape, seed,
                         1 / std::sqrt(static_cast<float>(parameter.fan_in)));
  }
  Rng rng(seed, Purpose::test);
  Tensor tensor(parameter.shape);
  const bool scales = parameter.value == 1;  // weights and running variances of BatchNorm
  for (float& x : tensor.floats()) x = scales ? rng.uniform(0.5F, 1.5F) : rng.uniform(-0.2F, 0.2F);
  return tensor;
}

/// By name, so that networks with blocks in common have their weights in common too.
inline std::uint64_t seed_of(const std::string& name) {
  std::uint64_t seed = 14695981039346656037U;
  for (const char c : name) seed = (seed ^ static_cast<unsigned char>(c)) * 1099511628211U;
  return seed;
}

inline std::vector<NamedTensor> random_weights(const Network& network) {
  const std::vector<Shape> shapes = tensor_shapes(network);
  std::vector<NamedTensor> weights;
  for (const NetworkBlock& block : network.blocks) {
    if (block.joins() || block.repeats >= 0) continue;
    const Shape& src = shapes[static_cast<std::size_t>(block.src)];
    for (int set = 0; set < block.state_sets; ++set) {
      for (const ParameterSpec& parameter : block_parameters(block.spec, src)) {
        if (set > 0 && parameter.trainable) continue;
        const std::string name = state_name(block.name, set) + "." + parameter.name;
        weights.push_back({name, random_value(parameter, seed_of(name))});
      }
    }
  }
  return weights;
}

/// Bits, not values: NaN equals itself, and 0 is not -0.
inline bool equal_bits(std::span<const float> a, std::span<const float> b) {
  return std::ranges::equal(a, b, [](float x, float y) {
    return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y);
  });
}

/// Names of `a` that `b` has not, or with other bits.
inline std::vector<std::string> differing(const std::vector<NamedTensor>& a,
                                          const std::vector<NamedTensor>& b) {
  std::map<std::string, const Tensor*> by_name;
  for (const NamedTensor& one : b) by_name[one.name] = &one.tensor;
  std::vector<std::string> names;
  for (const NamedTensor& one : a) {
    const auto found = by_name.find(one.name);
    if (found == by_name.end() || !equal_bits(one.tensor.floats(), found->second->floats())) {
      names.push_back(one.name);
    }
  }
  return names;
}

/// A network with weights, in evaluation.
class Evaluated {
 public:
  Evaluated(const Network& network, std::int64_t batch, const std::vector<NamedTensor>& weights)
      : chain_(network, {.batch = batch, .threads = 1}), store_(chain_, 1, 0), workspace_(chain_) {
    store_.import_weights(weights, "test");
  }
  Evaluated(const Network& network, std::int64_t batch)
      : Evaluated(network, batch, random_weights(network)) {}

  std::vector<float> logits(const Tensor& images) {
    const auto result = workspace_.forward(store_, images.floats().data());
    return {result.begin(), result.end()};
  }
  /// By block, of the last logits.
  std::vector<ResidualSums> residuals() { return workspace_.take_residuals(); }

 private:
  Chain chain_;
  ParameterStore store_;
  Workspace workspace_;
};

}  // namespace plait
