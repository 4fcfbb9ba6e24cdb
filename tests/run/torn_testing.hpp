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
#include "graph/parameters.hpp"
#include "run/workspace.hpp"
#include "strategy/parareal/torn_network.hpp"
#include "strategy/strategy_testing.hpp"

namespace plait::run {

inline strategy::Tearing tearing_for(const plan::Network& network, int pieces,
                                     strategy::CoarseKind coarse = strategy::CoarseKind::block) {
  return strategy::tear(strategy::TornChain(network), *cost::make_analytic_cost(network),
                        {.pieces = pieces, .coarse = coarse});
}

inline strategy::TornNetwork torn_network(const plan::Network& network,
                                          const strategy::Tearing& tearing, int sweeps,
                                          strategy::Sweeping sweeping = strategy::Sweeping::all) {
  return strategy::tear_network(strategy::TornChain(network), tearing, sweeps, sweeping);
}

inline tensor::Tensor random_tensor(const tensor::Shape& shape, std::uint64_t seed,
                                    float size = 1) {
  Rng rng(seed, Purpose::test);
  tensor::Tensor tensor(shape);
  for (float& x : tensor.floats()) x = size * rng.normal();
  return tensor;
}

inline tensor::Tensor random_value(const ops::ParameterSpec& parameter, std::uint64_t seed) {
  if (parameter.init != ops::Init::constant) {
    return random_tensor(parameter.shape, seed,
                         1 / std::sqrt(static_cast<float>(parameter.fan_in)));
  }
  Rng rng(seed, Purpose::test);
  tensor::Tensor tensor(parameter.shape);
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

inline std::vector<checkpoint::NamedTensor> random_weights(const plan::Network& network) {
  const std::vector<tensor::Shape> shapes = plan::tensor_shapes(network);
  std::vector<checkpoint::NamedTensor> weights;
  for (const plan::NetworkBlock& block : network.blocks) {
    if (block.weights_of >= 0) continue;
    for (int set = 0; set < block.state_sets; ++set) {
      for (const ops::ParameterSpec& parameter :
           graph::block_parameters(block.spec, plan::src_shapes(block, shapes))) {
        if (set > 0 && parameter.trainable) continue;
        const std::string name = plan::state_name(block.spec.name, set) + "." + parameter.name;
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
inline std::vector<std::string> differing(const std::vector<checkpoint::NamedTensor>& a,
                                          const std::vector<checkpoint::NamedTensor>& b) {
  std::map<std::string, const tensor::Tensor*> by_name;
  for (const checkpoint::NamedTensor& one : b) by_name[one.name] = &one.tensor;
  std::vector<std::string> names;
  for (const checkpoint::NamedTensor& one : a) {
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
  Evaluated(const plan::Network& network, std::int64_t batch,
            const std::vector<checkpoint::NamedTensor>& weights)
      : chain_(network, {.batch = batch, .threads = 1}), store_(chain_, 1, 0), workspace_(chain_) {
    store_.import_weights(weights, "test");
  }
  Evaluated(const plan::Network& network, std::int64_t batch)
      : Evaluated(network, batch, random_weights(network)) {}

  std::vector<float> logits(const tensor::Tensor& images) {
    const auto result = workspace_.forward(store_, images);
    return {result.begin(), result.end()};
  }
  /// By block, of the last logits.
  std::vector<ResidualSums> residuals() { return workspace_.take_residuals(); }

 private:
  Chain chain_;
  ParameterStore store_;
  Workspace workspace_;
};

}  // namespace plait::run
