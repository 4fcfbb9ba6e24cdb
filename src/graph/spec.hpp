// What a network is: a graph of blocks, each a small graph of layers. Plain values that can be
// compared, printed and hashed. What a layer is, ops/ says; what it computes, kernels/.
#pragma once

#include <string>
#include <vector>

#include "ops/operation.hpp"
#include "tensor/tensor.hpp"

namespace plait::graph {

/// The input of a node that is the block's own input number `number`, from 0.
constexpr int block_input(int number) { return -1 - number; }
constexpr int number_of_input(int input) { return -1 - input; }
/// The same of a block with one.
constexpr int kBlockInput = block_input(0);

/// A layer in a block's graph. `inputs` are indices of earlier nodes, or block_input(...).
struct Node {
  std::string name;
  ops::Operation layer;
  std::vector<int> inputs;
  /// The earlier layer whose trainable parameters it uses, by its full_name; empty: its own.
  /// Running statistics are always its own.
  std::string weights{};
  bool operator==(const Node&) const = default;
};

/// The input of a block that is the model's own.
constexpr int kModelInput = -1;

/// Some tensors in, one tensor out (the last node's).
struct BlockSpec {
  std::string name;
  std::vector<Node> nodes;
  /// Earlier blocks of the model whose outputs it reads, or kModelInput; empty: the block before.
  std::vector<int> inputs{};
  bool operator==(const BlockSpec&) const = default;

  /// Appends a node fed by the node before (or by the block's input); returns its index.
  int then(std::string node_name, ops::Operation layer);
  /// Appends a node with the given inputs; returns its index.
  int join(std::string node_name, ops::Operation layer, std::vector<int> node_inputs);
};

/// `input` and every other shape of this room is that of one sample, without the batch.
struct ModelSpec {
  std::string name;
  tensor::Shape input;
  std::vector<BlockSpec> blocks;
  tensor::DType input_type = tensor::DType::f32;  ///< or i32: token ids
  bool operator==(const ModelSpec&) const = default;
};

/// "block.node", as in names of parameters; "block" where the node has no name.
std::string full_name(const BlockSpec& block, const Node& node);

/// What block `index` reads: earlier blocks, or kModelInput.
std::vector<int> inputs_of(const ModelSpec& model, std::size_t index);
/// Whether every block reads the one before it and nothing else.
bool is_chain(const ModelSpec& model);

}  // namespace plait::graph
