// Networks like those of the GraphChallenge (RadiX-Net): every neuron has 32 inputs and 32 outputs,
// and from every input every output can be reached.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tensor/sparse_pattern.hpp"

namespace plait::graph {

// The GraphChallenge's rule of a layer: z = W y, `radixnet_bias` added where z is not 0, clipped to
// 0 .. kRadixNetClip.
constexpr float kRadixNetWeight = 1.0F / 16;
constexpr float kRadixNetClip = 32;
/// Of the official size that is nearest.
float radixnet_bias(std::int64_t neurons);

constexpr std::int64_t kRadixNetBlock = 16;  ///< neurons that are joined alike
constexpr std::int64_t kMaxRadixNetNeurons = std::int64_t{1} << 20;

struct RadixNetSize {
  std::int64_t neurons = 0;  ///< 16 * 2^k, k >= 1
  std::int64_t layers = 0;
  bool operator==(const RadixNetSize&) const = default;
};

/// "1024x120" is 1024 neurons in each of 120 layers.
RadixNetSize parse_radixnet(const std::string& text);

/// One pattern per layer; rows are output neurons. With m = neurons / 16 nodes, layer t joins
/// output node j to the input nodes j and j + 2^s mod m, s = t mod log2(m); a node is the 16
/// neurons j, j + m, j + 2 m, ... The log2(m) layers of a group share one permutation of their
/// input neurons: none in the first group, a random one in all others. This is how the official
/// networks are made; equal seeds give equal networks.
std::vector<std::shared_ptr<const tensor::SparsePattern>> make_radixnet(const RadixNetSize& size,
                                                                        std::uint64_t seed);

}  // namespace plait::graph
