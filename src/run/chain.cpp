// Builds the blocks in order, the model's own first, and hands layouts from one to the next.
#include "run/chain.hpp"

#include <omp.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/rounding.hpp"

namespace plait::run {

Chain::Chain(plan::Network network, const ChainOptions& options)
    : network_(std::move(network)), options_(options) {
  if (options.batch < 1) user_error("batch {} is too small; it must be at least 1", options.batch);
  if (options.threads < 1)
    user_error("threads {} is too small; it must be at least 1", options.threads);
  if (network_.blocks.empty()) user_error("model '{}' has no blocks", network_.name);
  omp_set_dynamic(0);                    // a smaller team would sum in another order
  omp_set_num_threads(options.threads);  // oneDNN shapes its kernels for the pool it finds
  tensors_.resize(network_.tensors.size());
  alike_ = plan::alike_tensors(network_);
  tensors_.front() = kernels::batch_desc(network_.input, options.batch);
  tensors_.front().dtype = network_.input_type;
  build_all();
  if (dst_desc().shape.rank() != 2 && dst_desc().shape.rank() != 4) {
    user_error(
        "model '{}' ends with shape {}, but the loss needs flat outputs or an image; end it with "
        "flatten",
        network_.name, dst_desc().shape);
  }
}

/// The model's own blocks come first: tensors that are added up then lie as in the model alone, and
/// its blocks compute the same bits. Blocks that a strategy has added follow them.
void Chain::build_all() {
  blocks_.resize(network_.blocks.size());
  const auto build_where = [&](const auto& wanted) {
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      const plan::NetworkBlock& block = network_.blocks[i];
      if (blocks_[i] != nullptr || !wanted(block)) continue;
      blocks_[i] = build(i);
      const tensor::TensorDesc& dst = blocks_[i]->dst_desc();
      tensors_[static_cast<std::size_t>(block.dst)] = dst;
      tensors_[static_cast<std::size_t>(alike_[static_cast<std::size_t>(block.dst)])] = dst;
    }
  };
  if (std::ranges::any_of(network_.blocks, &plan::NetworkBlock::added)) {
    build_where([&](const plan::NetworkBlock& block) {
      return !block.added && block.owns_weights() &&
             std::ranges::all_of(block.srcs, [&](int src) { return like(src).shape.rank() != 0; });
    });
  }
  build_where([](const plan::NetworkBlock&) { return true; });
}

const tensor::TensorDesc& Chain::like(int tensor) const {
  return tensors_[static_cast<std::size_t>(alike_[static_cast<std::size_t>(tensor)])];
}

const tensor::TensorDesc& Chain::src_of(const plan::NetworkBlock& block, int tensor) {
  tensor::TensorDesc& src = tensors_[static_cast<std::size_t>(tensor)];
  if (src.shape.rank() == 0) src = like(tensor);
  if (src.shape.rank() != 0) return src;
  if (!plan::is_cut(network_)) fail("block '{}' comes before the block it reads from", block.name);
  // Rows of others, which only messages write.
  src = kernels::batch_desc({network_.tensors[static_cast<std::size_t>(tensor)]}, options_.batch,
                            rows_layout());
  return src;
}

std::shared_ptr<kernels::Block> Chain::build(std::size_t index) {
  const plan::NetworkBlock& block = network_.blocks[index];
  std::vector<tensor::TensorDesc> srcs;
  for (const int tensor : block.srcs) srcs.push_back(src_of(block, tensor));
  if (network_.repeats(static_cast<int>(index))) {
    const auto& earlier = blocks_[static_cast<std::size_t>(block.weights_of)];
    if (earlier->src_descs() != srcs) fail("block '{}' reads another layout", block.name);
    return earlier;
  }
  kernels::BlockOptions wanted{.backend = options_.backend,
                               .threads = options_.threads,
                               .dst_layout = {},
                               .shares_weights = network_.shares_weights(static_cast<int>(index)),
                               .kernels = options_.kernels};
  for (const int tensor : block.srcs)
    wanted.wants_diff_srcs.push_back(network_.has_gradient(tensor));
  if (block.dst == network_.logits()) wanted.dst_layout = tensor::Layout::plain;
  if (like(block.dst).shape.rank() != 0) wanted.dst_layout = like(block.dst).layout;
  return std::make_shared<kernels::Block>(block.spec, std::move(srcs), wanted);
}

std::size_t Chain::scratch_bytes(std::size_t i) const {
  std::size_t bytes = blocks_[i]->scratch_bytes();
  const std::vector<int>& srcs = network_.blocks[i].srcs;
  for (std::size_t k = 0; k < srcs.size(); ++k) {
    const int tensor = srcs[k];
    if (!network_.has_gradient(tensor) || !network_.adds_gradient(static_cast<int>(i), tensor) ||
        blocks_[i]->traits().adds_in_pass(static_cast<int>(k))) {
      continue;
    }
    bytes = cache_lines(bytes) + cache_lines(tensor_desc(tensor).bytes());
  }
  return bytes;
}

std::size_t Chain::rows_bytes(std::int64_t rows) const {
  return kernels::batch_desc({rows}, options_.batch, rows_layout()).bytes();
}

}  // namespace plait::run
