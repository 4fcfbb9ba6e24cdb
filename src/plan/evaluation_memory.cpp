// Counts the tensors that are alive together in a forward pass, and the machine code of layers.
#include "plan/evaluation_memory.hpp"

#include <algorithm>

#include "plan/worker_memory.hpp"

namespace plait::plan {

namespace {

/// Measured: what the kernels of one layer take in machine code and descriptions.
constexpr std::int64_t kKernelBytes = 8 << 10;
constexpr std::int64_t kIndexBytes = 12;  ///< of one element of a sparse layer

/// Tensors beside the images that are alive at one time in a forward pass.
std::int64_t tensors_alive(const Network& network) {
  std::vector<std::size_t> last(network.tensors.size(), 0);
  for (std::size_t i = 0; i < network.blocks.size(); ++i) {
    const NetworkBlock& block = network.blocks[i];
    for (const int tensor : block.srcs) last[static_cast<std::size_t>(tensor)] = i;
  }
  std::vector<std::int64_t> change(network.blocks.size() + 1, 0);
  std::vector<bool> begun(network.tensors.size(), false);
  for (std::size_t i = 0; i < network.blocks.size(); ++i) {
    const auto dst = static_cast<std::size_t>(network.blocks[i].dst);
    if (begun[dst]) continue;
    begun[dst] = true;
    ++change[i];
    --change[std::max(last[dst], i) + 1];
  }
  std::int64_t alive = 0;
  std::int64_t most = 0;
  for (const std::int64_t step : change) most = std::max(most, alive += step);
  return most;
}

}  // namespace

std::int64_t workspace_bytes(const Network& network, const NetworkSizes& sizes) {
  std::int64_t tensor = 0;
  std::int64_t saved = 0;
  std::int64_t scratch = 0;
  for (const graph::BlockSizes& block : sizes.blocks) {
    tensor = std::max(tensor, static_cast<std::int64_t>(block.dst.bytes()));
    saved = std::max(saved, block.saved_bytes);
    scratch = std::max(scratch, block.scratch_bytes);
  }
  return tensors_alive(network) * tensor + saved + scratch +
         static_cast<std::int64_t>(sizes.tensors.front().bytes());
}

std::int64_t kernel_bytes(const graph::BlockSpec& block) {
  std::int64_t bytes = 0;
  for (const graph::Node& node : block.nodes) {
    bytes += kKernelBytes;
    const auto* sparse = std::get_if<ops::SparseLinear>(&node.layer);
    if (sparse != nullptr) bytes += kIndexBytes * sparse->pattern->size();
  }
  return bytes;
}

}  // namespace plait::plan

namespace plait::plan {

std::int64_t evaluation_memory(const Network& network, std::int64_t samples, int threads) {
  const NetworkSizes sizes = network_sizes(network, samples, {.threads = threads});
  std::int64_t bytes = kProgramBytes + workspace_bytes(network, sizes);
  for (std::size_t i = 0; i < network.blocks.size(); ++i) {
    if (network.repeats(static_cast<int>(i))) continue;
    // As they lie, and as they are read.
    const std::int64_t weights = network.blocks[i].owns_weights() ? 2 * sizes.blocks[i].weights : 0;
    bytes += static_cast<std::int64_t>(sizeof(float)) * (weights + sizes.blocks[i].state);
    bytes += kernel_bytes(network.blocks[i].spec);
  }
  return bytes;
}

}  // namespace plait::plan
