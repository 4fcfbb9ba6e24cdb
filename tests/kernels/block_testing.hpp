// Helpers of the block and network tests: a Chain of Blocks with their memory, trained by a
// hand-written SGD. Tensors and parameters go in and come out plain; memory begins as NaN.
#pragma once

#include <map>
#include <utility>

#include "kernels/block.hpp"
#include "kernels/layer_testing.hpp"

namespace plait::kernels::layer_testing {

/// A Block and the memory of one minibatch in flight.
class BlockRig {
 public:
  BlockRig(const graph::BlockSpec& spec, const tensor::TensorDesc& src, const BlockOptions& options)
      : block((omp_set_num_threads(options.threads), spec), src, options),
        weights(static_cast<std::size_t>(block.weights_size()), 0.0F),
        state(static_cast<std::size_t>(block.state_size()), 0.0F),
        wants_diff_src_(options.wants_diff_srcs.empty() || options.wants_diff_srcs[0]) {}

  Block block;
  Floats weights;
  Floats state;
  bool training = true;

  void set_parameter(const BlockParameter& parameter, const Floats& plain) {
    Floats& home = parameter.spec.trainable ? weights : state;
    block.pack_parameter(parameter, plain.data(), home.data() + parameter.offset);
  }
  Floats parameter(const BlockParameter& parameter) const {
    const Floats& home = parameter.spec.trainable ? weights : state;
    return unpacked(parameter, home.data());
  }
  Floats gradient(const BlockParameter& parameter) {
    return unpacked(parameter, diff_weights_.floats());
  }

  /// src and the result are physical, in the block's descs.
  const Floats& forward(const Floats& src) {
    src_ = Memory(src);
    Memory dst(block.dst_desc().bytes());
    saved_ = Memory(block.saved_bytes());
    BlockArgs args = base_args();
    Memory scratch(block.scratch_bytes());
    args.srcs = {{src_.data(), block.src_desc()}};
    args.dst = {dst.data(), block.dst_desc()};
    args.scratch = scratch.data();
    block.forward(args);
    for (const Memory* memory : {&dst, &saved_, &scratch})
      memory->expect_intact("forward's memory");
    dst_.assign(dst.floats(), dst.floats() + block.dst_desc().physical_elements());
    return dst_;
  }

  /// Both backward tasks, each with scratch of its own; the gradient of src, physical.
  Floats backward(const Floats& diff_dst) {
    Memory gradient(diff_dst);
    Memory diff_src(block.src_desc().bytes());
    Memory pending(block.pending_bytes());
    Memory no_src(block.src_desc().bytes());
    Memory no_dst(block.dst_desc().bytes());
    Memory dst(dst_);
    diff_weights_ = Memory(weights.size() * sizeof(float));
    BlockArgs args = base_args();
    args.dst = {(block.traits().data_reads_dst ? dst : no_dst).data(), block.dst_desc()};
    args.diff_dst = {gradient.data(), block.dst_desc()};
    if (wants_diff_src_) args.diff_srcs = {{diff_src.data(), block.src_desc()}};
    args.diff_weights = diff_weights_.floats();
    args.pending = pending.data();
    for (bool data : {true, false}) {
      Memory scratch(block.scratch_bytes());
      args.scratch = scratch.data();
      const bool reads = data ? block.traits().data_reads_src : block.traits().weights_read_src;
      args.srcs = {{(reads ? src_ : no_src).data(), block.src_desc()}};
      if (data && block.has_backward_data()) block.backward_data(args);
      if (!data && block.has_backward_weights()) block.backward_weights(args);
      scratch.expect_intact("scratch");
    }
    for (const Memory* memory : {&gradient, &diff_src, &pending, &saved_, &diff_weights_}) {
      memory->expect_intact("backward's memory");
    }
    EXPECT_EQ(std::memcmp(gradient.floats(), diff_dst.data(), diff_dst.size() * sizeof(float)), 0)
        << "a block must leave its diff_dst as it is";
    if (!wants_diff_src_) return {};
    return {diff_src.floats(), diff_src.floats() + block.src_desc().physical_elements()};
  }

 private:
  BlockArgs base_args() {
    BlockArgs args;
    args.weights = weights.data();
    args.state = state.data();
    args.saved = saved_.data();
    args.training = training;
    return args;
  }
  Floats unpacked(const BlockParameter& parameter, const float* home) const {
    Floats plain(count(parameter.spec.shape));
    block.unpack_parameter(parameter, home + parameter.offset, plain.data());
    return plain;
  }

  bool wants_diff_src_;
  Memory src_;
  Memory saved_;
  Memory diff_weights_;
  Floats dst_;
};

}  // namespace plait::kernels::layer_testing
