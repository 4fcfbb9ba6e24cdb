// Builds the layers in groups: layer s of a group joins nodes of 16 neurons at distance 2^s, like
// the stages of a butterfly; each group begins with a random permutation of its inputs.
#include "graph/radixnet.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdlib>
#include <numeric>
#include <utility>

#include "base/error.hpp"
#include "base/memory.hpp"
#include "base/rng.hpp"
#include "base/text.hpp"

namespace plait::graph {

namespace {

constexpr std::int64_t kMinNeurons = 2 * kRadixNetBlock;
constexpr std::int64_t kConnections = 2 * kRadixNetBlock;  // of a neuron
constexpr std::int64_t kMaxLayers = 65536;
constexpr std::int64_t kMaxConnections = std::int64_t{1} << 32;  // 65536x1920 has a few less

/// Sets the number at the beginning and returns what follows; nullptr where there is none.
const char* read_number(const char* first, const char* last, std::int64_t& number) {
  const auto [end, error] = std::from_chars(first, last, number);
  return error == std::errc() ? end : nullptr;
}

void check_neurons(std::int64_t neurons) {
  if (neurons < kMinNeurons || neurons > kMaxRadixNetNeurons) {
    user_error("radixnet: {} neurons are not within {} and {}; for example 1024", neurons,
               kMinNeurons, kMaxRadixNetNeurons);
  }
  if (std::has_single_bit(static_cast<std::uint64_t>(neurons))) return;
  const auto below = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(neurons)));
  user_error("radixnet: {} neurons are not a power of two; use {} or {}", neurons, below,
             2 * below);
}

void check_layers(const RadixNetSize& size) {
  if (size.layers < 1 || size.layers > kMaxLayers) {
    user_error("radixnet: {} layers are not within 1 and {}; for example 120", size.layers,
               kMaxLayers);
  }
  const std::int64_t most = kMaxConnections / kConnections / size.neurons;
  if (size.layers > most) {
    user_error("radixnet: {}x{} has more than 2^32 connections; use at most {} layers",
               size.neurons, size.layers, most);
  }
}

/// Patterns and values of all layers.
void check_memory_of(const RadixNetSize& size) {
  constexpr std::int64_t kBytes = sizeof(std::int32_t) + sizeof(float);
  const std::int64_t bytes = size.layers * size.neurons * (kConnections * kBytes + 8);
  const std::int64_t free = available_memory_bytes();
  if (free == 0 || bytes <= free) return;
  user_error(
      "radixnet: {}x{} has {} connections and needs about {} of memory, but {} are free on this "
      "machine; use fewer layers",
      size.neurons, size.layers, with_commas(size.layers * size.neurons * kConnections),
      with_bytes(bytes), with_bytes(free));
}

using Neurons = std::vector<std::int32_t>;

/// Which input neuron plays which part in a group of layers.
Neurons inputs_of_group(std::int64_t neurons, std::uint64_t seed, std::int64_t group) {
  Neurons inputs(static_cast<std::size_t>(neurons));
  std::iota(inputs.begin(), inputs.end(), 0);
  if (group == 0) return inputs;
  // b = 1: apart from the streams of the weights.
  Rng rng(seed, Purpose::init, static_cast<std::uint64_t>(group), 1);
  for (std::size_t i = inputs.size() - 1; i > 0; --i) {
    std::swap(inputs[i], inputs[rng.below(static_cast<std::uint32_t>(i + 1))]);
  }
  return inputs;
}

/// The inputs of all nodes, one node after the other.
Neurons inputs_of_nodes(const Neurons& inputs, std::size_t distance) {
  const std::size_t nodes = inputs.size() / kRadixNetBlock;
  Neurons all;
  all.reserve(2 * inputs.size());
  for (std::size_t node = 0; node < nodes; ++node) {
    for (const std::size_t joined : {node, (node + distance) % nodes}) {
      for (std::size_t i = joined; i < inputs.size(); i += nodes) all.push_back(inputs[i]);
    }
    std::sort(all.end() - kConnections, all.end());
  }
  return all;
}

tensor::SparsePattern make_layer(const Neurons& inputs, std::size_t distance) {
  const auto neurons = static_cast<std::int64_t>(inputs.size());
  tensor::SparsePattern layer{.rows = neurons, .columns = neurons, .row_begin = {}, .column = {}};
  layer.row_begin.resize(inputs.size() + 1);
  for (std::size_t i = 0; i <= inputs.size(); ++i) {
    layer.row_begin[i] = static_cast<std::int64_t>(i) * kConnections;
  }
  const Neurons once = inputs_of_nodes(inputs, distance);
  layer.column.reserve(once.size() * kRadixNetBlock);
  for (std::int64_t i = 0; i < kRadixNetBlock; ++i) {
    layer.column.insert(layer.column.end(), once.begin(), once.end());
  }
  return layer;
}

}  // namespace

float radixnet_bias(std::int64_t neurons) {
  constexpr std::pair<std::int64_t, float> kOfficial[] = {
      {1024, -0.3F}, {4096, -0.35F}, {16384, -0.4F}, {65536, -0.45F}};
  return std::ranges::min_element(kOfficial, {},
                                  [&](const auto& one) { return std::abs(one.first - neurons); })
      ->second;
}

RadixNetSize parse_radixnet(const std::string& text) {
  RadixNetSize size;
  const char* const last = text.data() + text.size();
  const char* end = read_number(text.data(), last, size.neurons);
  if (end != nullptr && end != last && *end == 'x') end = read_number(end + 1, last, size.layers);
  if (end != last || size.layers == 0) {
    user_error("radixnet: '{}' is not a size; write NEURONSxLAYERS, for example 1024x120",
               text.substr(0, 40));
  }
  check_neurons(size.neurons);
  check_layers(size);
  return size;
}

std::vector<std::shared_ptr<const tensor::SparsePattern>> make_radixnet(const RadixNetSize& size,
                                                                        std::uint64_t seed) {
  check_neurons(size.neurons);
  check_layers(size);
  check_memory_of(size);
  const auto nodes = static_cast<std::uint64_t>(size.neurons / kRadixNetBlock);
  const std::int64_t stages = std::countr_zero(nodes);
  std::vector<std::shared_ptr<const tensor::SparsePattern>> layers;
  Neurons inputs;
  for (std::int64_t layer = 0; layer < size.layers; ++layer) {
    const std::int64_t stage = layer % stages;
    if (stage == 0) inputs = inputs_of_group(size.neurons, seed, layer / stages);
    layers.push_back(
        std::make_shared<const tensor::SparsePattern>(make_layer(inputs, std::size_t{1} << stage)));
  }
  return layers;
}

}  // namespace plait::graph
