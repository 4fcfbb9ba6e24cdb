// Follows layouts through the network as run/chain does, but counts bytes only.
#include "plan/network_sizes.hpp"

#include <algorithm>

namespace plait::plan {

namespace {

class SizedNetwork {
 public:
  SizedNetwork(const Network& network, std::int64_t samples, const graph::SizeOptions& options)
      : network_(network), samples_(samples), options_(options), alike_(alike_tensors(network)) {
    sizes_.tensors.resize(network.tensors.size());
    sizes_.tensors.front() = {.shape = network.input.with_front(samples),
                              .dtype = network.input_type};
  }

  NetworkSizes run() {
    for (const NetworkBlock& block : network_.blocks) {
      sizes_.blocks.push_back(size(block));
      const tensor::TensorDesc& dst = sizes_.blocks.back().dst;
      tensor(block.dst) = dst;
      like(block.dst) = dst;
    }
    return std::move(sizes_);
  }

 private:
  tensor::TensorDesc& tensor(int index) { return sizes_.tensors[static_cast<std::size_t>(index)]; }
  tensor::TensorDesc& like(int index) { return tensor(alike_[static_cast<std::size_t>(index)]); }

  /// Rows of others, which only messages write, are in panels.
  std::vector<tensor::TensorDesc> srcs_of(const NetworkBlock& block) {
    std::vector<tensor::TensorDesc> srcs;
    for (const int index : block.srcs) {
      tensor::TensorDesc& src = tensor(index);
      if (src.shape.rank() == 0) {
        const auto features = network_.tensors[static_cast<std::size_t>(index)];
        src = {.shape = {samples_, features}, .layout = tensor::Layout::panels};
      }
      srcs.push_back(src);
    }
    return srcs;
  }

  graph::BlockSizes size(const NetworkBlock& block) {
    const std::vector<tensor::TensorDesc> srcs = srcs_of(block);
    if (network_.repeats(static_cast<int>(sizes_.blocks.size()))) {
      return sizes_.blocks[static_cast<std::size_t>(block.weights_of)];
    }
    graph::BlockSizeOptions options{.kernels = options_};
    options.kernels.shares_weights =
        network_.shares_weights(static_cast<int>(sizes_.blocks.size()));
    for (const int index : block.srcs)
      options.wants_diff_srcs.push_back(network_.has_gradient(index));
    if (block.dst == network_.logits()) options.dst_layout = tensor::Layout::plain;
    if (like(block.dst).shape.rank() != 0) options.dst_layout = like(block.dst).layout;
    return graph::block_sizes(block.spec, srcs, options);
  }

  const Network& network_;
  std::int64_t samples_;
  graph::SizeOptions options_;
  std::vector<int> alike_;
  NetworkSizes sizes_;
};

NetworkSizes counted_sizes(const Network& network, std::int64_t samples) {
  NetworkSizes sizes;
  for (const std::int64_t elements : network.tensors) {
    sizes.tensors.push_back({.shape = {samples, elements}});
  }
  for (const NetworkBlock& block : network.blocks) {
    graph::BlockSizes one;
    one.dst = sizes.tensors[static_cast<std::size_t>(block.dst)];
    one.saved_bytes = tensor::kFloatBytes * block.inner_elements * samples;
    one.pending_bytes = block.parameters > 0 ? one.saved_bytes : 0;
    one.weights = block.parameters;
    one.state = block.state / std::max(1, block.state_sets);
    one.traits = block.traits;
    sizes.blocks.push_back(std::move(one));
  }
  return sizes;
}

}  // namespace

NetworkSizes network_sizes(const Network& network, std::int64_t samples,
                           const graph::SizeOptions& options) {
  if (!has_layers(network)) return counted_sizes(network, samples);
  return SizedNetwork(network, samples, options).run();
}

bool has_layers(const Network& network) {
  return std::ranges::all_of(network.blocks, [](const NetworkBlock& block) {
    return !block.owns_weights() || !block.spec.nodes.empty();
  });
}

const NetworkSizes& SizesBySamples::at(std::int64_t samples) {
  const auto found = known_.find(samples);
  if (found != known_.end()) return found->second;
  return known_.emplace(samples, network_sizes(network_, samples, options_)).first->second;
}

}  // namespace plait::plan
