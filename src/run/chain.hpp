// Chain: a model made ready to compute: its blocks, built for one batch size, with layouts flowing
// from block to block. No memory of its own beyond the primitives.
#pragma once

#include <memory>
#include <vector>

#include "layers/block.hpp"
#include "model/spec.hpp"

namespace plait {

struct ChainOptions {
  std::int64_t batch = 1;
  int threads = 1;
  Backend backend = Backend::onednn;
};

class Chain {
 public:
  Chain(ModelSpec model, const ChainOptions& options);

  const ModelSpec& model() const { return model_; }
  const ChainOptions& options() const { return options_; }
  std::size_t size() const { return blocks_.size(); }
  Block& block(std::size_t i) { return *blocks_[i]; }
  const Block& block(std::size_t i) const { return *blocks_[i]; }
  const TensorDesc& src_desc() const { return blocks_.front()->src_desc(); }
  const TensorDesc& dst_desc() const { return blocks_.back()->dst_desc(); }

 private:
  ModelSpec model_;
  ChainOptions options_;
  std::vector<std::unique_ptr<Block>> blocks_;
};

}  // namespace plait
