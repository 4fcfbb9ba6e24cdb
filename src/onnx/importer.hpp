// Importer: the walk over an ONNX graph that finds plait's layers. Inside this room only; others
// call layers_of().
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "onnx/layers.hpp"
#include "onnx/read_layer.hpp"

namespace plait::onnx {

/// What of a layer that is spelled with several operators a value is:
/// GELU(x) = x (1 + erf(x / sqrt 2)) / 2, or channels in groups on their way to channel_shuffle.
enum class Part { whole, scaled, erf, raised, product, half, grouped, swapped };

/// A value of the graph: what a layer leaves, that with zeros around it, or a part of another
/// layer.
struct GraphPart {
  int layer = model::kBlockInput;
  Part part = Part::whole;
  ops::Extent2 padding{0, 0};  ///< zeros around it, which only average_pool can take
  std::int64_t groups = 0;     ///< grouped, swapped
};

class Importer {
 public:
  Importer(const onnx_graph::Graph& graph, const std::string& source);
  ImportedNetwork run();

 private:
  // The walk: layers.cpp.
  void constant(const NodeReader& node);
  bool shape(const NodeReader& node);
  void put(const NodeReader& node, const std::string& name, const GraphPart& value);
  GraphPart read(const NodeReader& node);
  GraphPart value(const NodeReader& node, std::size_t i) const;
  static bool is_whole(const GraphPart& one);
  /// A value that a layer has left.
  int whole(const NodeReader& node, std::size_t i) const;
  /// Of a sample; null where the file does not say it.
  const tensor::Shape* shape_of(int layer) const;
  const tensor::Shape& known_shape(const NodeReader& node, int layer) const;
  ImportedLayer& layer(int index) { return network_.layers[static_cast<std::size_t>(index)]; }
  GraphPart add(const NodeReader& node, ops::Operation layer, std::vector<int> inputs,
                std::vector<tensor::Tensor> parameters = {});
  GraphPart add(const NodeReader& node, ReadLayer read);

  // Layers of several operators: patterns.cpp.
  static bool has_constant(const NodeReader& node);
  GraphPart pad(const NodeReader& node);
  GraphPart plus_constant(const NodeReader& node);
  GraphPart with_bias(const NodeReader& node, const GraphPart& linear, std::size_t bias);
  GraphPart arithmetic(const NodeReader& node);
  GraphPart times_constant(const NodeReader& node);
  GraphPart product(const NodeReader& node);
  std::optional<ops::ActivationKind> gated(const GraphPart& gate, const GraphPart& x) const;
  /// The layer becomes this one, if no other node reads it.
  bool becomes(const NodeReader& node, std::size_t input, const ops::Operation& other);
  GraphPart clip(const NodeReader& node);
  GraphPart reduce_mean(const NodeReader& node);

  // Parts of channels, and their order: channels.cpp.
  GraphPart slice(const NodeReader& node);
  GraphPart split(const NodeReader& node);
  GraphPart slice_of(const NodeReader& node, int layer, std::int64_t begin, std::int64_t end);
  void expect_channels(const NodeReader& node, std::int64_t axis, int layer) const;
  GraphPart reshape(const NodeReader& node);
  GraphPart transpose(const NodeReader& node);
  GraphPart resize(const NodeReader& node);
  GraphPart layer_norm(const NodeReader& node);

  const onnx_graph::Graph& graph_;
  const std::string& source_;
  NodeReader::Constants constants_;
  std::map<std::string, GraphPart> values_;
  std::map<std::string, int> readers_;         ///< how many inputs of nodes a value is
  std::map<std::string, std::string> unread_;  ///< further outputs, and whose they are
  std::optional<tensor::Shape> input_;
  std::vector<std::optional<tensor::Shape>> shapes_;  ///< by layer
  ImportedNetwork network_;
};

}  // namespace plait::onnx
