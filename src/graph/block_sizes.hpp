// How much memory a finest block takes with fast layers, counted without building it: the call that
// kernels/block builds, with the sizes that layer_sizes foresees.
#pragma once

#include <optional>

#include "graph/block_traits.hpp"

namespace plait::graph {

struct BlockSizes {
  tensor::TensorDesc dst;
  std::int64_t saved_bytes = 0;    ///< forward .. last backward
  std::int64_t pending_bytes = 0;  ///< backward_data .. backward_weights
  std::int64_t scratch_bytes = 0;  ///< inside one task
  std::int64_t weights = 0;        ///< floats, padding included
  std::int64_t state = 0;          ///< floats, one set
  BlockTraits traits{};
};

struct BlockSizeOptions {
  std::optional<tensor::Layout> dst_layout{};  ///< empty: as the layer leaves it
  std::vector<bool> wants_diff_srcs{};         ///< by input; empty: true for all
  SizeOptions kernels{};
};

BlockSizes block_sizes(const BlockSpec& block, std::vector<tensor::TensorDesc> srcs,
                       const BlockSizeOptions& options);

}  // namespace plait::graph
