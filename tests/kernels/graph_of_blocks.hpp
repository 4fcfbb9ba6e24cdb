// GraphOfBlocks: a block of a model played as plainly as possible: each of its finest blocks one
// after the other, every value in memory of its own. What a task must not read is NaN.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "graph/fuse.hpp"
#include "kernels/block.hpp"
#include "kernels/layer_testing.hpp"

namespace plait::kernels::layer_testing {

class GraphOfBlocks {
 public:
  /// One of the finest blocks. Tensors 0, 1, ... are the inputs of the whole, then come the
  /// results.
  struct Part {
    Part(const graph::BlockSpec& spec, std::vector<tensor::TensorDesc> descs,
         const BlockOptions& options)
        : block(spec, std::move(descs), options),
          weights(static_cast<std::size_t>(block.weights_size()), 0.0F),
          state(static_cast<std::size_t>(block.state_size()), 0.0F),
          gradient(weights.size() * sizeof(float)) {}

    Block block;
    std::vector<std::size_t> srcs{};
    std::size_t dst = 0;
    Floats weights;
    Floats state;
    Memory gradient;
    Memory saved{};
  };

  GraphOfBlocks(const graph::BlockSpec& spec, std::vector<tensor::TensorDesc> srcs,
                const BlockOptions& options)
      : inputs_(srcs.size()), descs_(std::move(srcs)), wants_(options.wants_diff_srcs) {
    omp_set_num_threads(options.threads);
    wants_.resize(inputs_, true);
    const std::vector<graph::FinePart> fine = graph::fuse(spec, static_cast<int>(inputs_));
    for (const graph::FinePart& one : fine) {
      BlockOptions own = options;
      own.wants_diff_srcs.clear();
      std::vector<tensor::TensorDesc> read;
      std::vector<std::size_t> numbers;
      for (const int source : one.reads) {
        numbers.push_back(source < 0 ? static_cast<std::size_t>(graph::number_of_input(source))
                                     : inputs_ + static_cast<std::size_t>(source));
        read.push_back(descs_[numbers.back()]);
        own.wants_diff_srcs.push_back(wants_[numbers.back()]);
      }
      if (&one != &fine.back()) own.dst_layout.reset();
      const bool below = std::ranges::find(own.wants_diff_srcs, true) != own.wants_diff_srcs.end();
      parts_.push_back(std::make_unique<Part>(one.spec, std::move(read), own));
      parts_.back()->srcs = std::move(numbers);
      parts_.back()->dst = descs_.size();
      descs_.push_back(parts_.back()->block.dst_desc());
      wants_.push_back(below || parts_.back()->block.weights_size() > 0);
    }
    tensors_.resize(descs_.size());
    diffs_.resize(descs_.size());
  }

  bool training = true;
  Randomness randomness{};

  const tensor::TensorDesc& src_desc(std::size_t input = 0) const { return descs_[input]; }
  const tensor::TensorDesc& dst_desc() const { return descs_.back(); }
  std::vector<std::unique_ptr<Part>>& parts() { return parts_; }

  /// The inputs and the result are physical, in their descs.
  Floats forward(const std::vector<Floats>& srcs) {
    for (std::size_t k = 0; k < inputs_; ++k) tensors_[k] = Memory(srcs[k]);
    for (const auto& part : parts_) forward(*part);
    return values(tensors_.back(), dst_desc());
  }

  /// Both tasks of each block, each with scratch memory of its own; gradients by input, physical,
  /// empty where they are not wanted.
  std::vector<Floats> backward(const Floats& diff_dst) {
    begun_.assign(descs_.size(), false);
    for (std::size_t t = 0; t < descs_.size(); ++t) diffs_[t] = Memory(descs_[t].bytes());
    diffs_.back() = Memory(diff_dst);
    for (auto part = parts_.rbegin(); part != parts_.rend(); ++part) backward(**part);
    std::vector<Floats> diffs;
    for (std::size_t k = 0; k < inputs_; ++k) {
      diffs.push_back(wants_[k] ? values(diffs_[k], descs_[k]) : Floats());
    }
    return diffs;
  }

 private:
  static Floats values(Memory& memory, const tensor::TensorDesc& desc) {
    return {memory.floats(), memory.floats() + desc.physical_elements()};
  }

  BlockArgs base_args(Part& part, Memory& scratch) const {
    BlockArgs args;
    args.weights = part.weights.data();
    args.diff_weights = part.gradient.floats();
    args.state = part.state.data();
    args.saved = part.saved.data();
    args.scratch = scratch.data();
    args.training = training;
    args.randomness = randomness;
    return args;
  }

  void forward(Part& part) {
    Memory scratch(part.block.scratch_bytes());
    part.saved = Memory(part.block.saved_bytes());
    tensors_[part.dst] = Memory(descs_[part.dst].bytes());
    BlockArgs args = base_args(part, scratch);
    for (const std::size_t src : part.srcs) {
      args.srcs.emplace_back(tensors_[src].data(), descs_[src]);
    }
    args.dst = {tensors_[part.dst].data(), descs_[part.dst]};
    part.block.forward(args);
    tensors_[part.dst].expect_intact("dst");
    part.saved.expect_intact("saved");
    scratch.expect_intact("forward's scratch");
  }

  void backward(Part& part) {
    const Floats diff_dst = values(diffs_[part.dst], descs_[part.dst]);
    Memory pending(part.block.pending_bytes());
    part.gradient.poison();
    for (const bool data : {true, false}) {
      if (!(data ? part.block.has_backward_data() : part.block.has_backward_weights())) continue;
      Memory scratch(part.block.scratch_bytes());
      BlockArgs args = base_args(part, scratch);
      args.pending = pending.data();
      args.diff_dst = {diffs_[part.dst].data(), descs_[part.dst]};
      const graph::BlockTraits& traits = part.block.traits();
      std::vector<Memory> unread;
      const auto lend = [&](bool reads, std::size_t tensor) -> tensor::View {
        if (reads) return {tensors_[tensor].data(), descs_[tensor]};
        unread.emplace_back(descs_[tensor].bytes());
        return {unread.back().data(), descs_[tensor]};
      };
      for (std::size_t k = 0; k < part.srcs.size(); ++k) {
        const bool reads = data ? traits.data_reads_src : traits.weights_read_src;
        args.srcs.push_back(lend(reads && traits.reads_src(static_cast<int>(k)), part.srcs[k]));
      }
      args.dst = lend(data && traits.data_reads_dst, part.dst);
      if (data) {
        backward_data(part, args);
      } else {
        part.block.backward_weights(args);
      }
      scratch.expect_intact("backward's scratch");
    }
    pending.expect_intact("pending");
    part.gradient.expect_intact("the gradient of weights");
    EXPECT_EQ(
        std::memcmp(diffs_[part.dst].floats(), diff_dst.data(), diff_dst.size() * sizeof(float)), 0)
        << "a block must leave its diff_dst as it is";
  }

  void backward_data(Part& part, BlockArgs& args) {
    std::map<std::size_t, Memory> more;  // gradients of tensors that have one already
    for (const std::size_t src : part.srcs) {
      if (!wants_[src]) {
        args.diff_srcs.emplace_back();
        continue;
      }
      std::byte* diff = diffs_[src].data();
      if (begun_[src] && part.block.traits().adds_gradient) {
        args.diff_addend = {diff, descs_[src]};
      } else if (begun_[src]) {
        diff = more.emplace(src, Memory(descs_[src].bytes())).first->second.data();
      }
      args.diff_srcs.emplace_back(diff, descs_[src]);
      begun_[src] = true;
    }
    part.block.backward_data(args);
    for (auto& [src, memory] : more) {
      const auto size = static_cast<std::size_t>(descs_[src].physical_elements());
      for (std::size_t i = 0; i < size; ++i) diffs_[src].floats()[i] += memory.floats()[i];
    }
    for (const std::size_t src : part.srcs) diffs_[src].expect_intact("diff_src");
  }

  std::size_t inputs_;
  std::vector<tensor::TensorDesc> descs_;  ///< by tensor, like the next four
  std::vector<bool> wants_;
  std::vector<Memory> tensors_;
  std::vector<Memory> diffs_;
  std::vector<bool> begun_;  ///< the gradient is there
  std::vector<std::unique_ptr<Part>> parts_;
};

}  // namespace plait::kernels::layer_testing
