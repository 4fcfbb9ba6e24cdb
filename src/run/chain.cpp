#include "run/chain.hpp"

#include <omp.h>

#include "base/error.hpp"

namespace plait {

Chain::Chain(Network network, const ChainOptions& options)
    : network_(std::move(network)), options_(options) {
  if (options.batch < 1) user_error("batch {} is too small; it must be at least 1", options.batch);
  if (options.threads < 1)
    user_error("threads {} is too small; it must be at least 1", options.threads);
  if (network_.blocks.empty()) user_error("model '{}' has no blocks", network_.name);
  omp_set_dynamic(0);                    // a smaller team would sum in another order
  omp_set_num_threads(options.threads);  // oneDNN shapes its kernels for the pool it finds
  tensors_.resize(network_.tensors.size());
  tensors_.front() = batch_desc(network_.input, options.batch);
  for (const NetworkBlock& block : network_.blocks) {
    TensorDesc& src = tensors_[static_cast<std::size_t>(block.src)];
    if (src.shape.rank() == 0) {
      if (!network_.cut) fail("block '{}' comes before the block it reads from", block.name);
      // Rows of others, which only messages write.
      src = batch_desc({network_.tensors[static_cast<std::size_t>(block.src)]}, options.batch,
                       rows_layout());
    }
    blocks_.push_back(
        std::make_unique<Block>(block.spec, src,
                                BlockOptions{.backend = options.backend,
                                             .threads = options.threads,
                                             .wants_diff_src = block.src != 0,
                                             .plain_dst = block.dst == network_.logits(),
                                             .kernels = options.kernels}));
    tensors_[static_cast<std::size_t>(block.dst)] = blocks_.back()->dst_desc();
  }
  if (dst_desc().shape.rank() != 2) {
    user_error(
        "model '{}' ends with shape {}, but the loss needs flat outputs; end it with flatten",
        network_.name, dst_desc().shape);
  }
}

std::size_t Chain::rows_bytes(std::int64_t rows) const {
  return batch_desc({rows}, options_.batch, rows_layout()).bytes();
}

}  // namespace plait
