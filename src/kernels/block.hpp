// Block: a finest block of the graph, ready to compute. It plays its layer call, and conversions of
// layouts around it, as three tasks and says how much memory each needs. Like a layer it keeps no
// activations of its own.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "graph/block_call.hpp"
#include "kernels/layer.hpp"

namespace plait::kernels {

struct BlockOptions {
  Backend backend = Backend::onednn;
  int threads = 1;
  /// By input. False for the images: nobody waits for their gradient. Empty: true for all.
  std::vector<bool> wants_diff_srcs{};
  /// How dst shall lie: plain for the loss, like another tensor that it is joined with. Empty: as
  /// the layer leaves it.
  std::optional<tensor::Layout> dst_layout{};
  bool shares_weights = false;                     ///< as in LayerRequest
  std::shared_ptr<sparse::KernelCache> kernels{};  ///< as in LayerRequest
};

/// The memory of one task. forward: srcs, dst, weights, state, saved, scratch.
/// backward_data: diff_dst, diff_srcs, weights, saved, pending, scratch (and srcs, dst where the
/// traits say so). backward_weights: srcs, diff_dst, diff_weights, saved, scratch, and where the
/// traits say so pending, in which backward_data has left the gradient of what a fused activation
/// reads, or those of BatchNorm's parameters. backward_weights overwrites all of diff_weights.
/// Everything between tasks is plain data: the tasks of one minibatch may run in different
/// processes.
struct BlockArgs {
  std::vector<tensor::ConstView> srcs{};
  tensor::View dst{};
  tensor::ConstView diff_dst{};
  std::vector<tensor::View> diff_srcs{};  ///< empty: not wanted
  tensor::ConstView diff_addend{};        ///< where traits().adds_gradient: added to diff_srcs[0]
  const float* weights = nullptr;
  float* diff_weights = nullptr;
  float* state = nullptr;
  std::byte* saved = nullptr;
  std::byte* pending = nullptr;
  std::byte* scratch = nullptr;
  bool training = true;
  Randomness randomness;
};

/// A parameter of a block: `offset` in floats from the block's weights (trainable) or state
/// (others).
struct BlockParameter {
  std::string name;  ///< "node.weight"
  ops::ParameterSpec spec;
  std::int64_t offset = 0;
  std::int64_t physical_size = 0;
  std::size_t index = 0;  ///< within the layer
};

class Block {
 public:
  /// Failure if the spec is more than one layer call.
  Block(const graph::BlockSpec& spec, std::vector<tensor::TensorDesc> srcs,
        const BlockOptions& options);
  Block(const graph::BlockSpec& spec, const tensor::TensorDesc& src, const BlockOptions& options)
      : Block(spec, std::vector{src}, options) {}

  const std::string& name() const { return name_; }
  const std::vector<tensor::TensorDesc>& src_descs() const { return parts_.srcs; }
  const tensor::TensorDesc& src_desc() const { return parts_.srcs.front(); }
  const tensor::TensorDesc& dst_desc() const { return parts_.dst; }
  const std::vector<BlockParameter>& parameters() const { return parameters_; }
  std::int64_t weights_size() const { return weights_size_; }
  std::int64_t state_size() const { return state_size_; }

  std::size_t saved_bytes() const { return memory_.saved_bytes; }  ///< forward .. last backward
  std::size_t pending_bytes() const {
    return memory_.pending_bytes;
  }                                                             ///< backward_data .. _weights
  std::size_t scratch_bytes() const { return scratch_bytes_; }  ///< inside one task
  bool has_backward_data() const;
  bool has_backward_weights() const { return weights_size_ > 0; }
  const graph::BlockTraits& traits() const { return traits_; }

  /// As in Layer, if it has parameters.
  bool layout_follows_batch() const {
    return !parameters_.empty() && layer_->layout_follows_batch();
  }

  void forward(const BlockArgs& args);
  void backward_data(const BlockArgs& args);
  void backward_weights(const BlockArgs& args);

  void pack_parameter(const BlockParameter& parameter, const float* plain, float* physical) const;
  void unpack_parameter(const BlockParameter& parameter, const float* physical, float* plain) const;

 private:
  void build(const BlockOptions& options);
  void place_parameters();

  tensor::View at(const graph::CallPlace& place, const BlockArgs& args,
                  const tensor::TensorDesc& desc) const;
  /// What all tasks of the layer are handed.
  LayerArgs layer_args(const BlockArgs& args) const;
  /// The gradient of what the layers leave, converted if it has to be.
  tensor::ConstView layer_diff_dst(const BlockArgs& args) const;
  /// That of what the layer itself leaves: before a fused activation, which has to be gone through.
  tensor::ConstView diff_layer(const BlockArgs& args) const;
  void activation_backward(const BlockArgs& args) const;
  /// Whether the gradient of source `k` is wanted in this call.
  bool wants(std::size_t k, const BlockArgs& args) const;
  /// Where the layer writes the gradient of its source `k`.
  tensor::View diff_target(std::size_t k, const BlockArgs& args) const;
  /// Brings the gradient of source `k` to where the block's is.
  void return_diff(std::size_t k, const tensor::ConstView& diff_result,
                   const BlockArgs& args) const;

  std::string name_;
  int threads_ = 1;
  graph::CallParts parts_;
  graph::CallMemory memory_;
  graph::BlockTraits traits_;
  std::unique_ptr<Layer> layer_;
  std::unique_ptr<Layer> activation_;  ///< its backward; null: there is none
  std::vector<std::unique_ptr<Layer>>
      conversions_;  ///< by source of the layer; null: not converted
  std::unique_ptr<Layer> dst_conversion_;
  std::vector<BlockParameter> parameters_;
  std::int64_t weights_size_ = 0;
  std::int64_t state_size_ = 0;
  std::size_t scratch_bytes_ = 0;
};

}  // namespace plait::kernels
