// The layers found so far in an ONNX graph, each with the shape it leaves.
#pragma once

#include <set>

#include "onnx/layers.hpp"
#include "onnx/read_layer.hpp"
#include "onnx/view.hpp"

namespace plait::onnx {

class LayerList {
 public:
  /// UserError where the shape of the input is not stated, or absurd.
  LayerList(const std::string& source, tensor::Shape input);

  Value input() const { return {.layer = graph::kBlockInput, .shape = shape(graph::kBlockInput)}; }

  /// A layer with one input. Zeros around it become part of a convolution or of average pooling.
  Value add(const NodeReader& node, ReadLayer read, const Value& src);
  /// A layer with several.
  Value join(const NodeReader& node, const ops::Operation& layer, std::vector<Value> srcs);
  /// The same elements in another shape: a flatten, the end of a channel shuffle, or no layer yet.
  Value viewed(const NodeReader& node, const Value& src, const tensor::Shape& target);
  /// None where it is neither nothing nor part of a channel shuffle.
  std::optional<Value> transposed(const NodeReader& node, const Value& src) const;
  /// Some of the channels, or of another axis.
  Value sliced(const NodeReader& node, const Value& src, ChannelRange range);

  /// The layers that `output` depends on.
  ImportedNetwork finish(int output);

 private:
  const tensor::Shape& shape(int layer) const {
    return shapes_[static_cast<std::size_t>(layer + 1)];
  }
  int whole(const NodeReader& node, const Value& src) const;
  Value append(const NodeReader& node, ReadLayer read, std::vector<int> inputs);

  const std::string& source_;
  std::vector<tensor::Shape> shapes_;  ///< [0] of the input, then of each layer
  std::set<std::string> paths_;        ///< of layers with parameters
  ImportedNetwork network_;
};

}  // namespace plait::onnx
