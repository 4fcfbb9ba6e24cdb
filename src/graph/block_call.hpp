// BlockCall: the one layer call that a finest block is, and where its values lie: layouts that are
// converted around it, what it keeps for backward, gradients on their way between its tasks.
// kernels/block plays it, block_sizes counts it for the planner.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/block_traits.hpp"
#include "graph/spec.hpp"

namespace plait::graph {

/// A layer and what is fused into it. The layer's sources are inputs of the block; one input may be
/// several of them.
struct BlockCall {
  std::string name;  ///< of the layer's node
  ops::Operation layer;
  std::vector<int> srcs;  ///< by source: the number of the block's input
  bool relu = false;      ///< a ReLU is fused into this BatchNorm
  bool residual = false;  ///< the last source is added to the layer's result
  /// Done by a sparse linear as it writes its result. Backwards it is a task of its own, whose
  /// result both backward tasks of the linear read.
  std::optional<ops::Activation> activation{};

  /// Number of sources without the one that is added.
  std::size_t own_srcs() const { return srcs.size() - (residual ? 1 : 0); }
};

/// Whether a block with this number of inputs is one layer call.
bool is_one_call(const BlockSpec& block, int inputs);
/// Failure unless it is.
BlockCall call_of(const BlockSpec& block, int inputs);

/// The layer's sources, given the block's inputs: in another layout where the layer does not take
/// that of the input.
std::vector<tensor::TensorDesc> descs_to_read(const BlockCall& call,
                                              const std::vector<tensor::TensorDesc>& srcs);

/// A layer as it is built, or as layer_sizes counts it.
struct CallLayer {
  LayerTraits traits{};
  std::size_t saved_bytes = 0;
  std::size_t weights_bytes = 0;  ///< of its trainable parameters
};

/// What memory and traits of a block follow from.
struct CallParts {
  BlockCall call{};
  std::vector<tensor::TensorDesc> srcs{};        ///< by input of the block
  std::vector<tensor::TensorDesc> layer_srcs{};  ///< by source, in the layout the layer reads
  tensor::TensorDesc layer_dst{};                ///< as the layer leaves it
  tensor::TensorDesc dst{};                      ///< as the block leaves it
  std::vector<bool> wants_diff_srcs{};           ///< by input of the block
  CallLayer layer{};
  CallLayer activation{};

  bool converts(std::size_t source) const { return !(layer_srcs[source] == src(source)); }
  bool converts_dst() const { return !(layer_dst == dst); }
  bool wants(std::size_t source) const { return wants_diff_srcs[input(source)]; }
  /// Whether an earlier source is the same input.
  bool is_repeated(std::size_t source) const;
  /// Whether the gradient of this source equals that of the result, as for a sum.
  bool passes_gradient(std::size_t source) const;
  /// backward_data calls the layer. A plain sum has nothing to compute there.
  bool runs_data() const;
  /// There is anything to do in backward.
  bool has_backward() const;
  /// backward_data of the layer makes the gradient of its parameters too.
  bool makes_early_gradient() const;

  std::size_t input(std::size_t source) const {
    return static_cast<std::size_t>(call.srcs[source]);
  }
  const tensor::TensorDesc& src(std::size_t source) const { return srcs[input(source)]; }
};

BlockTraits traits_of(const CallParts& parts);

/// Where a value lies that is not the block's src, dst or a gradient of these.
enum class Region { none, saved, pending, scratch };

struct CallPlace {
  Region region = Region::none;
  std::size_t offset = 0;  ///< bytes
};

struct CallMemory {
  CallPlace layer_saved{};
  CallPlace activation_saved{};
  std::vector<CallPlace> layer_srcs{};  ///< by source of the layer, where it is converted
  CallPlace layer_dst{};                ///< the result, where it is converted
  CallPlace layer_diff_dst{};           ///< its gradient, converted in each of the backward tasks
  CallPlace linear_diff_dst{};          ///< the gradient of what a fused activation reads
  /// By source of the layer: its gradient, before it is converted.
  std::vector<CallPlace> layer_diff_srcs{};
  /// By source of the layer: its gradient, before it is added to that of an earlier source.
  std::vector<CallPlace> repeated_diffs{};
  CallPlace early_gradient{};  ///< of parameters, from backward_data to backward_weights
  std::size_t saved_bytes = 0;
  std::size_t pending_bytes = 0;
  std::size_t transient_bytes = 0;  ///< of scratch memory, in front of that of the layers
};

CallMemory place_call(const CallParts& parts);

}  // namespace plait::graph
