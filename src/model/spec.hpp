// What a network is: a graph of blocks, each a small graph of layers. Plain values that can be
// compared, printed and hashed; what a layer computes lives in layers/.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tensor/shape.hpp"
#include "tensor/sparse_pattern.hpp"

namespace plait::model {

/// Height and width.
struct Extent2 {
  std::int64_t height = 1;
  std::int64_t width = 1;
  bool operator==(const Extent2&) const = default;
};

struct ConvolutionSpec {
  std::int64_t out_channels = 0;
  Extent2 kernel{3, 3};
  Extent2 stride{1, 1};
  Extent2 padding{0, 0};
  Extent2 dilation{1, 1};
  std::int64_t groups = 1;
  bool bias = true;
  double initial_scale = 1;  ///< of the random weights
  bool operator==(const ConvolutionSpec&) const = default;
};

struct LinearSpec {
  std::int64_t out_features = 0;
  bool bias = true;
  double initial_scale = 1;  ///< of the random weight
  bool operator==(const LinearSpec&) const = default;
};

/// Over channels, statistics over batch and space. running <- (1 - momentum) running + momentum
/// batch, with the unbiased variance, as in PyTorch.
struct BatchNormSpec {
  double epsilon = 1e-5;
  double momentum = 0.1;
  /// false: neither mean nor bias, so that 0 stays 0: dst = weight src / sqrt(E[src^2] + epsilon).
  bool centered = true;
  bool operator==(const BatchNormSpec&) const = default;
};

/// gelu: the exact one, with erf. clip: to [0, ceiling], the GraphChallenge's. leaky_relu: slope x
/// below 0. silu: x sigmoid(x).
enum class ActivationKind { relu, tanh, sigmoid, gelu, clip, leaky_relu, silu };

struct ActivationSpec {
  ActivationKind kind = ActivationKind::relu;
  double ceiling = 32;  ///< of clip
  double slope = 0.01;  ///< of leaky_relu
  bool operator==(const ActivationSpec&) const = default;
};

/// Where the parameters of a piece of a linear layer belong (parameters.hpp).
struct LinearPiece;

/// Linear with the elements of `pattern` (out_features x in_features) only, in training too. The
/// weight is a flat array in the pattern's order.
struct SparseLinearSpec {
  std::shared_ptr<const tensor::SparsePattern> pattern;
  bool bias = true;
  /// How the weight begins; null: random.
  std::shared_ptr<const std::vector<float>> values{};
  double initial_bias = 0;
  /// Of a piece of a layer cut by rows; null: a layer of its own. Equal pieces share this object.
  std::shared_ptr<const LinearPiece> piece{};
  bool adds = false;  ///< adds to what is there instead of beginning anew
  /// Forward ends in this activation, whose gradient is another block's task. Of pieces only.
  std::optional<ActivationSpec> ends_in{};
  bool operator==(const SparseLinearSpec& other) const;
};

enum class PoolKind { max, average };

/// As in PyTorch, which counts the padding by default.
struct PoolSpec {
  PoolKind kind = PoolKind::max;
  Extent2 kernel{2, 2};
  Extent2 stride{2, 2};
  Extent2 padding{0, 0};
  /// The last window may reach beyond the padding, if it starts in the image or before it. Average
  /// pooling never counts what lies beyond the padding.
  bool ceil_mode = false;
  bool count_include_pad = true;  ///< average: divide by the window with its padding
  bool operator==(const PoolSpec&) const = default;
};

/// C x H x W -> C x 1 x 1.
struct GlobalAveragePoolSpec {
  bool operator==(const GlobalAveragePoolSpec&) const = default;
};

/// Keeps with probability 1 - p and scales by 1 / (1 - p) in training; identity in evaluation.
struct DropoutSpec {
  double probability = 0.5;
  bool operator==(const DropoutSpec&) const = default;
};

/// C x H x W -> features, in C, H, W order.
struct FlattenSpec {
  bool operator==(const FlattenSpec&) const = default;
};

/// Sum of two tensors of one shape (the residual connection).
struct AddSpec {
  bool operator==(const AddSpec&) const = default;
};

/// Two or more tensors one behind the other: by channels, C1xHxW and C2xHxW -> (C1 + C2)xHxW, or
/// flat features.
struct ConcatSpec {
  bool operator==(const ConcatSpec&) const = default;
};

using LayerSpec =
    std::variant<ConvolutionSpec, LinearSpec, SparseLinearSpec, BatchNormSpec, ActivationSpec,
                 PoolSpec, GlobalAveragePoolSpec, DropoutSpec, FlattenSpec, AddSpec, ConcatSpec>;

/// "convolution", "linear", "relu", ...: the words of model files and messages.
std::string_view kind_name(const LayerSpec& layer);

/// The input of a node that is the block's own input number `number`, from 0.
constexpr int block_input(int number) { return -1 - number; }
constexpr int number_of_input(int input) { return -1 - input; }
/// The same of a block with one.
constexpr int kBlockInput = block_input(0);

/// A layer in a block's graph. `inputs` are indices of earlier nodes, or block_input(...).
struct Node {
  std::string name;
  LayerSpec layer;
  std::vector<int> inputs;
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
  int then(std::string node_name, LayerSpec layer);
  /// Appends a node with the given inputs; returns its index.
  int join(std::string node_name, LayerSpec layer, std::vector<int> node_inputs);
};

/// `input` and every other shape of this room is that of one sample, without the batch.
struct ModelSpec {
  std::string name;
  tensor::Shape input;
  std::vector<BlockSpec> blocks;
  bool operator==(const ModelSpec&) const = default;
};

/// What block `index` reads: earlier blocks, or kModelInput.
std::vector<int> inputs_of(const ModelSpec& model, std::size_t index);
/// Whether every block reads the one before it and nothing else.
bool is_chain(const ModelSpec& model);

}  // namespace plait::model
