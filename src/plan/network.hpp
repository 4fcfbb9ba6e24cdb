// Network: what a plan computes, as the planner sees it: blocks that read tensors and write another
// one, in an order in which they can be computed. The blocks are the finest ones (graph/fuse), of
// which block i writes tensor i + 1; a strategy may add blocks and tensors of its own, and
// repetitions of earlier blocks. Blocks may use the weights of another one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "graph/block_traits.hpp"

namespace plait::plan {

struct NetworkBlock {
  std::string name;
  /// Tensors, each once. One of them may be dst: backward_data works in place, forward is another
  /// block's.
  std::vector<int> srcs{};
  int dst = 0;
  std::int64_t parameters = 0;  ///< trainable elements
  std::int64_t state = 0;       ///< running statistics, elements, all sets of them
  std::int64_t macs = 0;        ///< forward, one sample
  /// Elements per sample that forward leaves for backward beside src and dst.
  std::int64_t inner_elements = 0;
  /// With the name of the model's block, of which it is a part or all. Without nodes when only its
  /// costs are known (published profiles).
  graph::BlockSpec spec{};
  graph::BlockTraits traits{};  ///< as the operations say
  /// Of a block that a strategy has made of one of the model's (a piece of it, or a repetition):
  /// the model's block, its name, and the piece's share of its work.
  int whole = -1;
  std::string whole_name{};
  double share = 1;
  bool added = false;  ///< not of the model: the strategy's own
  int piece = -1;      ///< that the strategy has put it in, for tables; -1: there are none
  /// The earlier block whose weights this one uses; -1: its own. With the same layers it is that
  /// block once more (Network::repeats): both add to one gradient. With others (tied weights of the
  /// model) it has a gradient and running statistics of its own, and its gradient is added to the
  /// owner's before the update (AddGradient).
  int weights_of = -1;
  /// Sets of running statistics. A block that is repeated in a step sees other values
  /// each time, so it keeps a set for each time; set 0 is the model's own, the last time's.
  int state_sets = 1;
  int state_set = 0;  ///< of its home's, which it computes with

  bool owns_weights() const { return weights_of < 0; }
  /// A sum or difference of two tensors that a strategy has put between parts of the network; these
  /// and dst lie alike.
  bool is_join() const;
  /// Such a difference.
  bool is_difference() const;
  bool reads(int tensor) const { return std::ranges::find(srcs, tensor) != srcs.end(); }
  bool reads_input() const { return reads(0); }
  bool operator==(const NetworkBlock&) const = default;
};

struct Network {
  std::string name;
  std::vector<NetworkBlock> blocks;
  std::vector<std::int64_t> tensors;  ///< elements per sample; tensor 0 is the input
  tensor::Shape input{};
  tensor::DType input_type = tensor::DType::f32;  ///< or i32; all other tensors are f32

  /// Per tensor the last block that reads it (blocks in place aside): its backward_data writes the
  /// gradient, those of earlier readers add to it, from the last to the first. Empty: each has one
  /// reader.
  std::vector<int> last_readers{};
  /// Per tensor whether it depends on weights: nobody waits for the gradients of others. Empty: all
  /// but the input.
  std::vector<bool> trained{};

  int size() const { return static_cast<int>(blocks.size()); }
  bool has_gradient(int tensor) const {
    return trained.empty() ? tensor != 0 : trained[static_cast<std::size_t>(tensor)];
  }
  /// Whether any tensor that the block reads has one.
  bool returns_gradient(int block) const {
    return std::ranges::any_of(blocks[static_cast<std::size_t>(block)].srcs,
                               [&](int tensor) { return has_gradient(tensor); });
  }
  /// Whether the block has anything to do in backward.
  bool has_backward(int block) const {
    return blocks[static_cast<std::size_t>(block)].parameters > 0 || returns_gradient(block);
  }
  /// Whether backward_data of a block that reads `tensor` adds to a gradient that is there.
  bool adds_gradient(int block, int tensor) const {
    return !last_readers.empty() && last_readers[static_cast<std::size_t>(tensor)] != block &&
           blocks[static_cast<std::size_t>(block)].dst != tensor;
  }
  /// Whether other layers use the same weights.
  bool shares_weights(int block) const;
  std::int64_t parameters() const;  ///< each once, however many blocks use them
  std::int64_t macs() const;
  int logits() const { return blocks.back().dst; }
  /// The block whose weights this one uses.
  int owner_of(int block) const {
    const int earlier = blocks[static_cast<std::size_t>(block)].weights_of;
    return earlier < 0 ? block : earlier;
  }
  /// Whether it is the owner of its weights once more: it has the same layers of the model.
  bool repeats(int block) const {
    const NetworkBlock& here = blocks[static_cast<std::size_t>(block)];
    return !here.owns_weights() &&
           here.spec == blocks[static_cast<std::size_t>(here.weights_of)].spec;
  }
  /// The block whose gradient and running statistics (one set of them) this one uses.
  int home_of(int block) const { return repeats(block) ? owner_of(block) : block; }
  /// Whether it uses another one's weights with a gradient of its own.
  bool is_tied(int block) const {
    return !blocks[static_cast<std::size_t>(block)].owns_weights() && !repeats(block);
  }
  bool operator==(const Network&) const = default;
};

Network make_network(const graph::ModelSpec& model);

/// Whether block i reads tensor i alone and writes tensor i + 1.
bool is_chain(const Network& network);
/// As Network::last_readers says.
std::vector<int> last_readers(const Network& network);
/// As Network::trained says.
std::vector<bool> trained_tensors(const Network& network);
/// Sets what follows from the blocks: traits, last_readers and trained. The shapes fit.
void complete(Network& network);
/// Whether a block of the model begins with block `block`.
bool begins_module(const Network& network, int block);
/// Of those that every block reads.
std::vector<tensor::Shape> src_shapes(const NetworkBlock& block,
                                      const std::vector<tensor::Shape>& tensors);

/// Of every tensor, without the batch; flat where no block writes it.
std::vector<tensor::Shape> tensor_shapes(const Network& network);

/// Whether its blocks are parts of the model's (ParameterPart names them). Tensors that no block
/// writes are then rows of others, which only messages write.
bool is_cut(const Network& network);

/// Per tensor, of those it must lie like because they are added up, the one that stands for all.
std::vector<int> alike_tensors(const Network& network);

/// Of names, sizes and layers: equal networks, equal text.
std::string network_hash(const Network& network);

/// "conv1", and "conv1#2" for what another set than the model's own holds.
std::string state_name(const std::string& block, int set);
/// Whether a tensor's name is of such another set.
bool is_of_another_set(const std::string& name);

}  // namespace plait::plan
