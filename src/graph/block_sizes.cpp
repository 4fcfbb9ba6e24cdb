// The parts of a block's call as layer_sizes counts them.
#include "graph/block_sizes.hpp"

#include <algorithm>

#include "graph/block_call.hpp"

namespace plait::graph {

namespace {

/// What the layer reads, without the tensor that a fused sum adds.
LayerSizes sizes_of(const BlockCall& call, const std::vector<tensor::TensorDesc>& read,
                    const SizeOptions& options) {
  return layer_sizes(call.layer, std::span(read).first(call.own_srcs()), options);
}

CallLayer call_layer(const LayerSizes& sizes) {
  return {.traits = sizes,
          .saved_bytes = static_cast<std::size_t>(sizes.saved_bytes),
          .weights_bytes = static_cast<std::size_t>(sizes.weights) * sizeof(float)};
}

}  // namespace

BlockSizes block_sizes(const BlockSpec& block, std::vector<tensor::TensorDesc> srcs,
                       const BlockSizeOptions& options) {
  CallParts parts{.call = call_of(block, static_cast<int>(srcs.size())), .srcs = std::move(srcs)};
  parts.wants_diff_srcs = options.wants_diff_srcs;
  parts.wants_diff_srcs.resize(parts.srcs.size(), true);
  parts.layer_srcs = descs_to_read(parts.call, parts.srcs);
  const LayerSizes layer = sizes_of(parts.call, parts.layer_srcs, options.kernels);
  parts.layer = call_layer(layer);
  parts.layer_dst = parts.call.residual ? parts.layer_srcs.back() : layer.dst;
  if (parts.call.activation) {
    parts.activation =
        call_layer(layer_sizes(*parts.call.activation, {&parts.layer_dst, 1}, options.kernels));
  }
  parts.dst = parts.layer_dst;
  if (options.dst_layout && parts.layer_dst.layout != *options.dst_layout) {
    parts.dst = conversion_sizes(parts.layer_dst, *options.dst_layout).dst;
  }
  const CallMemory memory = place_call(parts);
  return {.dst = parts.dst,
          .saved_bytes = static_cast<std::int64_t>(memory.saved_bytes),
          .pending_bytes = static_cast<std::int64_t>(memory.pending_bytes),
          .scratch_bytes = static_cast<std::int64_t>(memory.transient_bytes) + layer.scratch_bytes,
          .weights = layer.weights,
          .state = layer.state,
          .traits = traits_of(parts)};
}

BlockTraits traits_of(const BlockSpec& block, std::span<const tensor::Shape> srcs) {
  CallParts parts{.call = call_of(block, static_cast<int>(srcs.size()))};
  for (const tensor::Shape& src : srcs) parts.srcs.push_back({.shape = src.with_front(1)});
  parts.wants_diff_srcs.assign(srcs.size(), true);
  for (std::size_t k = 0; k < parts.call.srcs.size(); ++k) parts.layer_srcs.push_back(parts.src(k));
  const LayerSizes layer = sizes_of(parts.call, parts.layer_srcs, {});
  parts.layer = call_layer(layer);
  parts.layer_dst = parts.dst = layer.dst;
  if (parts.call.activation) {
    parts.activation = call_layer(layer_sizes(*parts.call.activation, {&parts.layer_dst, 1}, {}));
  }
  return traits_of(parts);
}

}  // namespace plait::graph
