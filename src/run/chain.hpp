// Chain: a network made ready to compute: its blocks, built for one batch size, with layouts
// flowing from block to block. Tensors that are joined lie alike, as the model's own blocks leave
// them. No memory of its own beyond the
// primitives.
#pragma once

#include <memory>
#include <vector>

#include "layers/block.hpp"
#include "plan/network.hpp"

namespace plait {

struct ChainOptions {
  std::int64_t batch = 1;
  int threads = 1;
  Backend backend = Backend::onednn;
  std::shared_ptr<sparse::KernelCache> kernels{};  ///< as in LayerRequest
};

class Chain {
 public:
  Chain(Network network, const ChainOptions& options);
  Chain(const ModelSpec& model, const ChainOptions& options)
      : Chain(make_network(model), options) {}

  const Network& network() const { return network_; }
  const ChainOptions& options() const { return options_; }
  std::size_t size() const { return blocks_.size(); }
  /// Of a join: one without layers, sizes 0. A block that repeats another is that very one.
  Block& block(std::size_t i) { return *blocks_[i]; }
  const Block& block(std::size_t i) const { return *blocks_[i]; }
  /// How a tensor of the network lies.
  const TensorDesc& tensor_desc(int tensor) const {
    return tensors_[static_cast<std::size_t>(tensor)];
  }
  /// Of so many rows (features) of a tensor in panels.
  std::size_t rows_bytes(std::int64_t rows) const;
  const TensorDesc& src_desc() const { return tensors_.front(); }
  const TensorDesc& dst_desc() const { return tensor_desc(network_.logits()); }

 private:
  void build_all();
  /// How what the tensor is joined with lies; rank 0 where that is not known yet.
  const TensorDesc& like(int tensor) const;
  const TensorDesc& src_of(const NetworkBlock& block);
  std::shared_ptr<Block> build(const NetworkBlock& block);
  Layout rows_layout() const {
    return options_.backend == Backend::reference ? Layout::plain : Layout::panels;
  }
  Network network_;
  ChainOptions options_;
  std::vector<TensorDesc> tensors_;
  std::vector<int> alike_;  ///< per tensor: of those it must lie like, the one that stands for all
  std::vector<std::shared_ptr<Block>> blocks_;
};

}  // namespace plait
