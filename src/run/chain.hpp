// Chain: a network made ready to compute: its blocks, built for one batch size, with layouts
// flowing from block to block. Tensors that a strategy adds up lie alike, as the model's own
// blocks leave them. No memory of its own beyond the primitives.
#pragma once

#include <memory>
#include <vector>

#include "kernels/block.hpp"
#include "plan/network.hpp"

namespace plait::run {

struct ChainOptions {
  std::int64_t batch = 1;
  int threads = 1;
  kernels::Backend backend = kernels::Backend::onednn;
  std::shared_ptr<kernels::sparse::KernelCache> kernels{};  ///< as in LayerRequest
};

class Chain {
 public:
  Chain(plan::Network network, const ChainOptions& options);
  Chain(const graph::ModelSpec& model, const ChainOptions& options)
      : Chain(plan::make_network(model), options) {}

  const plan::Network& network() const { return network_; }
  const ChainOptions& options() const { return options_; }
  std::size_t size() const { return blocks_.size(); }
  /// A block that repeats another is that very one.
  kernels::Block& block(std::size_t i) { return *blocks_[i]; }
  const kernels::Block& block(std::size_t i) const { return *blocks_[i]; }
  /// How a tensor of the network lies.
  const tensor::TensorDesc& tensor_desc(int tensor) const {
    return tensors_[static_cast<std::size_t>(tensor)];
  }
  /// Scratch memory of its tasks, that for gradients which are added to others included.
  std::size_t scratch_bytes(std::size_t i) const;
  /// Of so many rows (features) of a tensor in panels.
  std::size_t rows_bytes(std::int64_t rows) const;
  const tensor::TensorDesc& src_desc() const { return tensors_.front(); }
  const tensor::TensorDesc& dst_desc() const { return tensor_desc(network_.logits()); }
  /// Of the image that the network ends with; 0 where it ends with features.
  std::int64_t pixels() const {
    const tensor::Shape& shape = dst_desc().shape;
    return shape.rank() == 4 ? shape[2] * shape[3] : 0;
  }

 private:
  void build_all();
  /// How what the tensor is added to lies; rank 0 where that is not known yet.
  const tensor::TensorDesc& like(int tensor) const;
  const tensor::TensorDesc& src_of(const plan::NetworkBlock& block, int tensor);
  std::shared_ptr<kernels::Block> build(std::size_t index);
  tensor::Layout rows_layout() const {
    return options_.backend == kernels::Backend::reference ? tensor::Layout::plain
                                                           : tensor::Layout::panels;
  }
  plan::Network network_;
  ChainOptions options_;
  std::vector<tensor::TensorDesc> tensors_;
  std::vector<int> alike_;  ///< per tensor: of those it must lie like, the one that stands for all
  std::vector<std::shared_ptr<kernels::Block>> blocks_;
};

}  // namespace plait::run
