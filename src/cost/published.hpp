// Published per-layer profiles in PipeDream's text form: a graph of layers with the milliseconds
// of forward and backward, bytes of activations and parameters. Lines:
//   nodeK -- Conv2d(3, 64, ...) -- forward_compute_time=MS, backward_compute_time=MS,
//            activation_size=BYTES, parameter_size=BYTES          (in one line)
//       nodeA -- nodeB                                            (an edge)
#pragma once

#include "cost/cost_model.hpp"

namespace plait::cost {

/// The graph as published: a block per node, in the order of the numbers, that reads what its edges
/// say and writes a tensor of its activation_size. Input nodes are no block: their bytes together
/// are tensor 0, their time (loading) is left away. So is the backward of a node that has no
/// parameters and reads inputs only. The backward of a node with parameters is halved into data and
/// weights. Outputs that nobody reads and that take no time are left away.
struct PublishedProfile {
  plan::Network network{};             ///< no spec, no MACs: only costs and sizes are known
  std::vector<BlockSeconds> blocks{};  ///< of `batch` samples
  std::int64_t batch = 0;
  std::string source{};
};

/// What was measured when no layer of the file tells it.
constexpr std::int64_t kPublishedBatch = 128;

/// UserError, one line with the source and the line's number: unknown lines, numbers that are
/// negative or not finite, edges of unknown nodes, cycles, no input, more than one end.
/// The batch follows from activation_size and out_features of the Linear layers.
PublishedProfile parse_published(std::string_view text, const std::string& source);
PublishedProfile read_published(const std::string& path);

/// Proportional to the samples; update, loss, load and sum take no time.
std::unique_ptr<CostModel> make_published_cost(const PublishedProfile& profile);

}  // namespace plait::cost
