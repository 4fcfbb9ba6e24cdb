// An ONNX graph under way: nodes, stored tensors and the names of both, layer by layer. Which
// operators a layer becomes is write_layer's.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "graph/spec.hpp"
#include "onnx/graph.hpp"

namespace plait::onnx {

class GraphWriter {
 public:
  GraphWriter(const std::vector<checkpoint::NamedTensor>& weights, const std::string& source);

  /// The layer under way: its full name, that of the layer whose weights it uses (empty: its own),
  /// the values it reads, and their shapes.
  struct Place {
    std::string name;
    std::string weights;
    std::vector<std::string> srcs;
    std::vector<tensor::Shape> shapes;

    const tensor::Shape& shape() const { return shapes.front(); }
  };
  /// Stores the parameters of the layer.
  void begin(const ops::Operation& layer, Place place);
  const Place& place() const { return place_; }
  const std::vector<std::string>& parameters() const { return parameters_; }

  /// The node that bears the layer's name, with all its inputs and parameters.
  std::string emit(const std::string& op, std::vector<onnx_graph::Attribute> attributes = {});
  /// A node of the layer; `part` is "" for the one that bears its name. The value that it leaves.
  std::string step(const std::string& op, const std::string& part, std::vector<std::string> inputs,
                   std::vector<onnx_graph::Attribute> attributes = {});
  /// Stored tensors: one number that all layers share, or some of the layer's own.
  std::string scalar(float value);
  std::string integers(const std::string& part, const std::vector<std::int64_t>& values);
  std::string floats(const std::string& part, const tensor::Tensor& values);
  /// An operator that older sets do not have.
  void need_opset(std::int64_t opset);

  /// What the graph calls the model's input.
  static std::string input_name(const graph::ModelSpec& model);
  /// With `value` as the result.
  onnx_graph::Graph finish(const graph::ModelSpec& model, const std::string& value);

 private:
  tensor::Tensor weight(const std::string& name, const ops::ParameterSpec& spec) const;

  const std::string& source_;
  std::map<std::string_view, const tensor::Tensor*> weights_;
  std::set<std::string> scalars_;
  std::set<std::string> turned_;  ///< parameters that are stored transposed
  Place place_;
  std::vector<std::string> parameters_;
  onnx_graph::Graph graph_;
};

}  // namespace plait::onnx
