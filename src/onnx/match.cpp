// A walk over both networks that pairs layers by kind, settings and inputs, and refuses the first
// that has no partner.
#include "onnx/match.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "base/error.hpp"
#include "graph/parameters.hpp"
#include "graph/shapes.hpp"
#include "onnx/alike.hpp"

namespace plait::onnx {

namespace {

tensor::Tensor filled(std::int64_t size, float value) {
  tensor::Tensor tensor(tensor::Shape{size});
  std::ranges::fill(tensor.floats(), value);
  return tensor;
}

bool all_are(const tensor::Tensor& tensor, float value) {
  return std::ranges::all_of(tensor.floats(), [&](float x) { return x == value; });
}

class Matcher {
 public:
  Matcher(const ImportedNetwork& network, const std::string& source)
      : network_(network), source_(source), taken_(network.layers.size(), false) {
    for (std::size_t i = 0; i < network.layers.size(); ++i) {
      const ImportedLayer& layer = network.layers[i];
      if (std::holds_alternative<ops::Dropout>(layer.layer)) taken_[i] = true;
      for (std::size_t k = 0; k < layer.inputs.size(); ++k) {
        inputs_.resize(i + 1);
        inputs_[i].push_back(without_dropout(layer.inputs[k]));
        readers_[inputs_[i].back()].push_back(i);
      }
    }
  }

  /// The file's layer that the model's layer `name`, fed by the file's layers `srcs` with samples
  /// of `src`, is; its parameters go to the result.
  int layer(const ops::Operation& ours, const std::string& name, const std::vector<int>& srcs,
            const tensor::Shape& src) {
    const std::vector<ops::ParameterSpec> parameters = ops::parameters_of(ours, src);
    for (const std::size_t i : readers_[srcs[0]]) {
      const ImportedLayer& candidate = network_.layers[i];
      if (taken_[i] || !same_inputs(inputs_[i], srcs) || !alike(ours, candidate.layer, src))
        continue;
      taken_[i] = true;
      take(candidate, ours, name, parameters);
      return static_cast<int>(i);
    }
    const auto* bn = std::get_if<ops::BatchNorm>(&ours);
    if (bn != nullptr && unfold(*bn, name, srcs[0], parameters)) return srcs[0];
    user_error("{}: after {} the model has '{}' ({}), but the file has {}", source_, place(srcs[0]),
               name, layer_text(ours), what_follows(srcs[0]));
  }

  /// The parameters of a layer that uses those of an earlier one must be the same.
  void tie(const graph::Node& node, const std::string& name, const tensor::Shape& src) {
    const auto find = [&](const std::string& full) {
      return std::ranges::find(result_.tensors, full, &checkpoint::NamedTensor::name);
    };
    for (const ops::ParameterSpec& parameter : ops::parameters_of(node.layer, src)) {
      if (!parameter.trainable) continue;
      const auto own = find(name + "." + parameter.name);
      const auto owner = find(node.weights + "." + parameter.name);
      if (own == result_.tensors.end() || owner == result_.tensors.end()) continue;
      if (!std::ranges::equal(own->tensor.floats(), owner->tensor.floats())) {
        user_error("{}: '{}' and '{}' differ in the file, but the model has one for both", source_,
                   owner->name, own->name);
      }
      result_.tensors.erase(own);
    }
  }

  MatchedWeights finish(int last) {
    for (std::size_t i = 0; i < taken_.size(); ++i) {
      if (taken_[i]) continue;
      user_error("{}: node {}, {}, is not in the model", source_, network_.layers[i].node,
                 layer_text(network_.layers[i].layer));
    }
    if (last != without_dropout(network_.output)) {
      user_error("{}: its output comes after {}, but the model ends with {}", source_,
                 place(network_.output), place(last));
    }
    for (auto& [layer, waiting] : waiting_bias_) refuse_bias(layer, waiting.first);
    return std::move(result_);
  }

 private:
  /// Both sides leave dropout out: it changes nothing in evaluation.
  int without_dropout(int layer) const {
    while (layer >= 0) {
      const ImportedLayer& one = network_.layers[static_cast<std::size_t>(layer)];
      if (!std::holds_alternative<ops::Dropout>(one.layer)) break;
      layer = one.inputs[0];
    }
    return layer;
  }
  static bool same_inputs(const std::vector<int>& a, const std::vector<int>& b) {
    return std::is_permutation(a.begin(), a.end(), b.begin(), b.end());
  }
  std::string place(int layer) const {
    return layer == graph::kBlockInput
               ? std::string("the input")
               : fmt::format("node {}", network_.layers[static_cast<std::size_t>(layer)].node);
  }
  std::string what_follows(int layer) {
    for (const std::size_t i : readers_[layer]) {
      if (taken_[i]) continue;
      const ImportedLayer& next = network_.layers[i];
      return fmt::format("node {}, {}", next.node, layer_text(next.layer));
    }
    return "nothing";
  }
  [[noreturn]] void refuse_bias(int layer, const std::string& name) const {
    user_error("{}: {} has a bias, but the model's '{}' has none", source_, place(layer), name);
  }

  void put(const std::string& name, const ops::ParameterSpec& spec, const tensor::Tensor& tensor,
           const ImportedLayer& from) {
    if (tensor.shape() != spec.shape) {
      user_error("{}: node {}: its {} is {}, but the model's '{}.{}' needs {}", source_, from.node,
                 spec.name, tensor.shape(), name, spec.name, spec.shape);
    }
    result_.tensors.push_back({name + "." + spec.name, tensor});
  }

  void take(const ImportedLayer& from, const ops::Operation& ours, const std::string& name,
            const std::vector<ops::ParameterSpec>& parameters) {
    const int index = static_cast<int>(&from - network_.layers.data());
    const auto* norm = std::get_if<ops::LayerNorm>(&ours);
    if (norm != nullptr && !norm->affine &&
        !(all_are(from.parameters[0], 1) && all_are(from.parameters[1], 0))) {
      user_error("{}: {} has weights, but the model's '{}' is not affine", source_, place(index),
                 name);
    }
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (const auto* sparse = std::get_if<ops::SparseLinear>(&ours); sparse != nullptr && i == 0) {
        put(name, parameters[0], elements(*sparse->pattern, from, name), from);
      } else if (i < from.parameters.size()) {
        put(name, parameters[i], from.parameters[i], from);
      } else {
        put(name, parameters[i], filled(parameters[i].shape.elements(), 0), from);
      }
    }
    const bool surplus = !parameters.empty() && from.parameters.size() > parameters.size();
    if (!surplus || all_are(from.parameters[1], 0)) return;
    if (!std::holds_alternative<ops::Convolution>(ours)) refuse_bias(index, name);
    waiting_bias_[index] = {name, from.parameters[1]};  // for a BatchNorm that was folded
  }

  /// Of a dense matrix that is zero elsewhere.
  tensor::Tensor elements(const tensor::SparsePattern& pattern, const ImportedLayer& from,
                          const std::string& name) const {
    const tensor::Tensor& matrix = from.parameters[0];
    if (matrix.shape() != tensor::Shape{pattern.rows, pattern.columns}) {
      user_error("{}: node {}: its weight is {}, but the model's '{}' is {} x {}", source_,
                 from.node, matrix.shape(), name, pattern.rows, pattern.columns);
    }
    tensor::Tensor values(tensor::Shape{pattern.size()});
    std::size_t next = 0;
    for (std::int64_t row = 0; row < pattern.rows; ++row) {
      const auto line = matrix.floats().subspan(static_cast<std::size_t>(row * pattern.columns),
                                                static_cast<std::size_t>(pattern.columns));
      const std::size_t first = next;
      for (const std::int32_t column : pattern.row(row)) {
        values.floats()[next++] = line[static_cast<std::size_t>(column)];
      }
      const auto zeros = [](std::span<const float> some) { return std::ranges::count(some, 0.0F); };
      const std::int64_t inside = zeros(values.floats().subspan(first, next - first));
      if (zeros(line) - inside != static_cast<std::int64_t>(line.size() - (next - first))) {
        user_error("{}: node {}: row {} has weights where the model's '{}' has none", source_,
                   from.node, row, name);
      }
    }
    return values;
  }

  /// A BatchNorm that the file has folded into the convolution `conv`: with mean 0, variance 1 and
  /// weight sqrt(1 + epsilon) it is the identity, plus the bias.
  bool unfold(const ops::BatchNorm& bn, const std::string& name, int conv,
              const std::vector<ops::ParameterSpec>& parameters) {
    const auto epsilon = static_cast<float>(bn.epsilon);
    if (conv == graph::kBlockInput || !bn.centered) return false;
    const ImportedLayer& from = network_.layers[static_cast<std::size_t>(conv)];
    if (!std::holds_alternative<ops::Convolution>(from.layer) || unfolded_.contains(conv)) {
      return false;
    }
    unfolded_[conv] = true;
    const std::int64_t channels = parameters[0].shape[0];
    tensor::Tensor bias = filled(channels, 0);
    if (const auto waiting = waiting_bias_.find(conv); waiting != waiting_bias_.end()) {
      bias = waiting->second.second;
      waiting_bias_.erase(waiting);
    }
    put(name, parameters[0], filled(channels, std::sqrt(1 + epsilon)), from);
    put(name, parameters[1], bias, from);
    put(name, parameters[2], filled(channels, 0), from);
    put(name, parameters[3], filled(channels, 1), from);
    ++result_.folded;
    return true;
  }

  const ImportedNetwork& network_;
  const std::string& source_;
  std::vector<bool> taken_;
  std::vector<std::vector<int>> inputs_;  ///< of each layer, without dropout
  std::map<int, std::vector<std::size_t>> readers_;
  std::map<int, std::pair<std::string, tensor::Tensor>> waiting_bias_;  ///< by the file's layer
  std::map<int, bool> unfolded_;
  MatchedWeights result_;
};

}  // namespace

MatchedWeights match_weights(const graph::ModelSpec& model, const ImportedNetwork& network,
                             const std::string& source) {
  Matcher matcher(network, source);
  const std::vector<tensor::Shape> borders = graph::border_shapes(model);
  std::vector<int> results{graph::kBlockInput};  // of the input and of every block
  for (std::size_t i = 0; i < model.blocks.size(); ++i) {
    const graph::BlockSpec& block = model.blocks[i];
    const std::vector<int> reads = graph::inputs_of(model, i);
    const std::vector<tensor::Shape> block_srcs = graph::input_shapes(model, borders, i);
    const std::vector<tensor::Shape> shapes = graph::node_shapes(block, block_srcs);
    std::vector<int> layers;
    for (const graph::Node& node : block.nodes) {
      std::vector<int> srcs;
      for (const int input : node.inputs) {
        srcs.push_back(
            input < 0 ? results[static_cast<std::size_t>(
                            1 + reads[static_cast<std::size_t>(graph::number_of_input(input))])]
                      : layers[static_cast<std::size_t>(input)]);
      }
      const tensor::Shape src = graph::node_inputs(node, block_srcs, shapes, block.name).front();
      const std::optional<ops::Operation> layer = as_exported(node.layer, src);
      layers.push_back(!layer ? srcs[0]
                              : matcher.layer(*layer, graph::full_name(block, node), srcs, src));
      if (layer && !node.weights.empty()) matcher.tie(node, graph::full_name(block, node), src);
    }
    results.push_back(layers.back());
  }
  return matcher.finish(results.back());
}

}  // namespace plait::onnx
