// Block: one block of the graph, ready to compute. It plays its small graph of layers as three
// tasks and says how much memory each needs. Like a layer it keeps no activations of its own.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/block_graph.hpp"
#include "kernels/layer.hpp"

namespace plait::kernels {

struct BlockOptions {
  Backend backend = Backend::onednn;
  int threads = 1;
  /// By input. False for the images: nobody waits for their gradient. Empty: true for all.
  std::vector<bool> wants_diff_srcs{};
  /// How dst shall lie: plain for the loss, like another tensor that it is joined with. Empty: as
  /// the last layer leaves it.
  std::optional<tensor::Layout> dst_layout{};
  bool shares_weights = false;                     ///< as in LayerRequest
  std::shared_ptr<sparse::KernelCache> kernels{};  ///< as in LayerRequest
};

/// The memory of one task. forward: srcs, dst, weights, state, saved, scratch.
/// backward_data: diff_dst, diff_srcs, weights, saved, pending, scratch (and srcs, dst where the
/// traits say so). backward_weights: srcs, diff_dst, diff_weights, saved, scratch, and where the
/// traits say so pending, in which backward_data has left inner gradients and those of BatchNorm's
/// parameters. backward_weights overwrites all of diff_weights. Everything between tasks is plain
/// data: the tasks of one minibatch may run in different processes.
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
  std::size_t step = 0;   ///< of the block's graph
  std::size_t index = 0;  ///< within that layer
};

class Block {
 public:
  Block(const graph::BlockSpec& spec, std::vector<tensor::TensorDesc> srcs,
        const BlockOptions& options);
  Block(const graph::BlockSpec& spec, const tensor::TensorDesc& src, const BlockOptions& options)
      : Block(spec, std::vector{src}, options) {}

  const std::string& name() const { return name_; }
  const std::vector<tensor::TensorDesc>& src_descs() const { return src_descs_; }
  const tensor::TensorDesc& src_desc() const { return src_descs_.front(); }
  const tensor::TensorDesc& dst_desc() const { return dst_desc_; }
  const std::vector<BlockParameter>& parameters() const { return parameters_; }
  std::int64_t weights_size() const { return weights_size_; }
  std::int64_t state_size() const { return state_size_; }

  std::size_t saved_bytes() const { return memory_.saved_bytes; }  ///< forward .. last backward
  std::size_t pending_bytes() const { return pending_bytes_; }     ///< backward_data .. _weights
  std::size_t scratch_bytes() const { return scratch_bytes_; }     ///< inside one task
  bool has_backward_data() const { return has_backward_data_; }
  bool has_backward_weights() const { return has_backward_weights_; }
  const graph::BlockTraits& traits() const { return memory_.traits; }

  /// As in Layer, of any of its layers with parameters.
  bool layout_follows_batch() const;

  void forward(const BlockArgs& args);
  void backward_data(const BlockArgs& args);
  void backward_weights(const BlockArgs& args);

  void pack_parameter(const BlockParameter& parameter, const float* plain, float* physical) const;
  void unpack_parameter(const BlockParameter& parameter, const float* physical, float* plain) const;

 private:
  /// Puts a conversion before step `i` where its layer does not take the layout of what it reads;
  /// the next step to build is then the conversion.
  void match_layouts(std::size_t i);
  /// The same for source `source` of step `i`, whatever it is.
  void convert(std::size_t i, std::size_t source, tensor::Layout layout);
  const tensor::TensorDesc& desc_of(int tensor) const {
    return descs_[static_cast<std::size_t>(tensor)];
  }
  LayerArgs layer_args(std::size_t step, const BlockArgs& args) const;
  void layer_backward_data(std::size_t step, const BlockArgs& args) const;

  std::string name_;
  std::vector<tensor::TensorDesc> src_descs_;
  tensor::TensorDesc dst_desc_;
  std::vector<tensor::TensorDesc> descs_;  ///< by tensor of the graph; those fused away are empty
  int threads_ = 1;
  std::vector<GraphStep> steps_;
  std::vector<std::shared_ptr<Layer>> layers_;
  GraphMemory memory_;
  std::vector<BlockParameter> parameters_;
  std::vector<std::int64_t> weights_offset_;
  std::vector<std::int64_t> state_offset_;
  std::int64_t weights_size_ = 0;
  std::int64_t state_size_ = 0;
  /// By layer: where in `pending` backward_data leaves the gradient of the layer's parameters.
  struct EarlyGradient {
    std::size_t offset = 0;
    std::size_t bytes = 0;  ///< 0: backward_weights makes it
  };
  std::vector<EarlyGradient> early_;
  std::size_t pending_bytes_ = 0;
  std::size_t scratch_bytes_ = 0;
  bool has_backward_data_ = false;
  bool has_backward_weights_ = false;
};

}  // namespace plait::kernels
