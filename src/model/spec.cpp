// Names of the kinds of layers, comparison of sparse layers, and the small functions that build a
// block.
#include "model/spec.hpp"

#include "model/parameters.hpp"

namespace plait::model {

namespace {

struct KindName {
  std::string_view operator()(const ConvolutionSpec&) const { return "convolution"; }
  std::string_view operator()(const LinearSpec&) const { return "linear"; }
  std::string_view operator()(const SparseLinearSpec&) const { return "sparse_linear"; }
  std::string_view operator()(const BatchNormSpec&) const { return "batch_norm"; }
  std::string_view operator()(const ActivationSpec& activation) const {
    switch (activation.kind) {
      case ActivationKind::relu: return "relu";
      case ActivationKind::tanh: return "tanh";
      case ActivationKind::sigmoid: return "sigmoid";
      case ActivationKind::gelu: return "gelu";
      case ActivationKind::clip: return "clip";
      case ActivationKind::leaky_relu: return "leaky_relu";
      case ActivationKind::silu: return "silu";
    }
    return "activation";
  }
  std::string_view operator()(const PoolSpec& pool) const {
    return pool.kind == PoolKind::max ? "max_pool" : "average_pool";
  }
  std::string_view operator()(const GlobalAveragePoolSpec&) const { return "global_average_pool"; }
  std::string_view operator()(const DropoutSpec&) const { return "dropout"; }
  std::string_view operator()(const FlattenSpec&) const { return "flatten"; }
  std::string_view operator()(const AddSpec&) const { return "add"; }
  std::string_view operator()(const ConcatSpec&) const { return "concat"; }
};

}  // namespace

namespace {

/// The same object, or equal ones.
template <class T>
bool equal(const std::shared_ptr<const T>& a, const std::shared_ptr<const T>& b) {
  return a == b || (a != nullptr && b != nullptr && *a == *b);
}

}  // namespace

bool ParameterSpec::operator==(const ParameterSpec& other) const {
  return name == other.name && shape == other.shape && init == other.init &&
         fan_in == other.fan_in && scale == other.scale && trainable == other.trainable &&
         value == other.value && equal(values, other.values) && equal(pattern, other.pattern) &&
         equal(part, other.part);
}

bool LinearPiece::operator==(const LinearPiece& other) const {
  return equal(weight, other.weight) && equal(bias, other.bias);
}

bool SparseLinearSpec::operator==(const SparseLinearSpec& other) const {
  return equal(pattern, other.pattern) && equal(values, other.values) && bias == other.bias &&
         initial_bias == other.initial_bias && equal(piece, other.piece) && adds == other.adds &&
         ends_in == other.ends_in;
}

std::vector<int> inputs_of(const ModelSpec& model, std::size_t index) {
  const std::vector<int>& inputs = model.blocks[index].inputs;
  return inputs.empty() ? std::vector{static_cast<int>(index) - 1} : inputs;
}

bool is_chain(const ModelSpec& model) {
  for (std::size_t i = 0; i < model.blocks.size(); ++i) {
    if (inputs_of(model, i) != std::vector{static_cast<int>(i) - 1}) return false;
  }
  return true;
}

std::string_view kind_name(const LayerSpec& layer) { return std::visit(KindName{}, layer); }

int BlockSpec::then(std::string node_name, LayerSpec layer) {
  const int previous = static_cast<int>(nodes.size()) - 1;  // -1 is kBlockInput
  return join(std::move(node_name), std::move(layer), {previous});
}

int BlockSpec::join(std::string node_name, LayerSpec layer, std::vector<int> node_inputs) {
  nodes.push_back({std::move(node_name), std::move(layer), std::move(node_inputs)});
  return static_cast<int>(nodes.size()) - 1;
}

}  // namespace plait::model
