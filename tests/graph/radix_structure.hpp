// The structure of the GraphChallenge's networks, asked of official and of generated ones alike.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "tensor/sparse_pattern.hpp"

namespace plait::graph {

using Row = std::vector<std::int32_t>;

inline Row row_of(const tensor::SparsePattern& layer, std::int64_t i) {
  const std::span<const std::int32_t> row = layer.row(i);
  return {row.begin(), row.end()};
}

/// How many rows have the same pattern: the sizes that occur.
inline std::set<int> class_sizes(const tensor::SparsePattern& layer) {
  std::map<Row, int> count;
  for (std::int64_t i = 0; i < layer.rows; ++i) ++count[row_of(layer, i)];
  std::set<int> sizes;
  for (const auto& [row, size] : count) sizes.insert(size);
  return sizes;
}

/// The node that an input neuron plays in layer `layer`: with m nodes it is joined to the outputs
/// of the nodes j and j - 2^s, whole nodes of 16. -1 where the neuron is joined otherwise. In the
/// last stage j and j - m/2 cannot be told apart; the smaller one is given.
inline std::int64_t node_played(const tensor::SparsePattern& outputs_of, std::int64_t neuron,
                                std::int64_t distance) {
  const std::int64_t nodes = outputs_of.rows / 16;
  std::map<std::int64_t, int> outputs;
  for (const std::int32_t output : outputs_of.row(neuron)) ++outputs[output % nodes];
  if (outputs.size() != 2) return -1;
  for (const auto& [node, count] : outputs) {
    if (count != 16) return -1;
    if (outputs.contains((node - distance + nodes) % nodes)) return node;
  }
  return -1;
}

/// Every layer is a stage of the radix net under the permutation of its group's inputs.
template <class PatternOf>
void expect_radix_structure(std::int64_t neurons, std::int64_t layers, PatternOf pattern_of) {
  const std::int64_t nodes = neurons / 16;
  const std::int64_t stages = std::countr_zero(static_cast<std::uint64_t>(nodes));
  std::vector<std::int64_t> played;
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    const std::int64_t stage = layer % stages;
    const bool last = stage + 1 == stages;
    const tensor::SparsePattern& pattern = pattern_of(layer);
    ASSERT_EQ(class_sizes(pattern), std::set<int>{last ? 32 : 16}) << layer;
    const tensor::SparsePattern outputs_of = tensor::transposed(pattern).pattern;
    std::vector<std::int64_t> now;
    for (std::int64_t i = 0; i < neurons; ++i) {
      now.push_back(node_played(outputs_of, i, std::int64_t{1} << stage));
      ASSERT_GE(now.back(), 0) << "layer " << layer << " input " << i;
      if (layer < stages) {
        ASSERT_EQ(now.back(), i % (last ? nodes / 2 : nodes)) << layer;
      }
    }
    if (stage == 0) played = now;
    for (std::size_t i = 0; i < now.size(); ++i) {
      ASSERT_EQ(now[i], last ? played[i] % (nodes / 2) : played[i]) << layer << " input " << i;
    }
  }
}

/// Neurons that can be reached from `input` through all `layers`.
inline std::int64_t reached(const std::vector<const tensor::SparsePattern*>& layers,
                            std::int64_t input) {
  std::vector<bool> alive(static_cast<std::size_t>(layers.front()->columns));
  alive[static_cast<std::size_t>(input)] = true;
  for (const tensor::SparsePattern* layer : layers) {
    std::vector<bool> next(static_cast<std::size_t>(layer->rows));
    for (std::int64_t i = 0; i < layer->rows; ++i) {
      for (const std::int32_t j : layer->row(i)) {
        if (alive[static_cast<std::size_t>(j)]) next[static_cast<std::size_t>(i)] = true;
      }
    }
    alive = next;
  }
  return std::count(alive.begin(), alive.end(), true);
}

}  // namespace plait::graph
