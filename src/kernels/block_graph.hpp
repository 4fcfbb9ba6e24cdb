// The graph inside a block, decided once: which layers are fused, where every tensor lives, which
// gradient buffers are shared. Pure bookkeeping, no arithmetic.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "graph/block_traits.hpp"
#include "kernels/layer.hpp"

namespace plait::kernels {

/// One layer call. Of a block with n inputs tensors 0 .. n - 1 are those; tensor n + i is the
/// result of node i; conversions make further ones.
struct GraphStep {
  std::string name;
  ops::Operation spec;
  std::vector<int> srcs;
  int dst = 0;
  bool relu = false;      ///< a ReLU node was fused into this BatchNorm
  bool residual = false;  ///< an add node was fused into this convolution; srcs[1] is the skip
  /// Done by a sparse linear as it writes its result. The activation keeps a step of its own, whose
  /// forward has then nothing left to do: both backward tasks of the linear read its gradient.
  std::optional<ops::Activation> activation{};
  bool forward_done = false;
  std::optional<tensor::Layout> convert_to{};  ///< no node at all: brings srcs[0] into this layout
};

/// The layer calls of graph/fused_steps, and a sparse linear that ends in its activation.
std::vector<GraphStep> fuse(const graph::BlockSpec& block, int inputs);

enum class Where {
  none,
  block_src,
  block_dst,
  block_diff_dst,
  block_diff_src,
  saved,
  pending,
  scratch
};

struct Place {
  Where where = Where::none;
  std::size_t offset = 0;  ///< bytes
  int input = 0;           ///< of block_src and block_diff_src: which of the block's
  bool operator==(const Place&) const = default;
};

/// result <- a + b, gradients of `tensor`; a plain copy of a where b is nowhere.
struct GradientSum {
  Place result;
  Place a;
  Place b;
  int tensor = 0;
};

/// Gradient side of one step: the layer call, then the sums that join gradients which met.
struct BackwardStep {
  bool run_data = false;
  bool run_weights = false;
  Place diff_dst;
  std::vector<Place> diff_srcs;  ///< by input of the layer
  Place addend;                  ///< for layers that add it themselves
  std::vector<GradientSum> sums;
};

struct GraphMemory {
  std::vector<Place> tensors;       ///< by tensor id
  std::vector<Place> layer_saved;   ///< by step
  std::vector<BackwardStep> steps;  ///< by step
  std::size_t saved_bytes = 0;
  std::size_t pending_bytes = 0;
  std::size_t transient_bytes = 0;  ///< inner tensors that nobody needs after the task
  graph::BlockTraits traits{};
  /// The last step is a conversion, and the gradient behind it lies in scratch memory: both
  /// backward tasks convert it.
  bool converts_gradient = false;
};

/// `descs` by tensor id (those fused away may be empty); `layers` by step; `wants_diff_srcs` by
/// input of the block.
GraphMemory place_memory(const std::vector<GraphStep>& steps,
                         const std::vector<std::shared_ptr<Layer>>& layers,
                         const std::vector<tensor::TensorDesc>& descs,
                         const std::vector<bool>& wants_diff_srcs);

}  // namespace plait::kernels
