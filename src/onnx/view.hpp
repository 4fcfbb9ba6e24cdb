// Values of an ONNX graph, and the arithmetic of nodes that only rearrange them: Reshape, Squeeze,
// Slice, Split, Pad.
#pragma once

#include "onnx/node_reader.hpp"
#include "onnx/sizes.hpp"

namespace plait::onnx {

enum class Form {
  whole,    ///< what a layer has left
  padded,   ///< that with zeros around it, which a convolution or average pooling can take
  viewed,   ///< that with another shape
  shuffled  ///< that as groups x channels, transposed: half of a channel shuffle
};

struct Value {
  int layer = graph::kBlockInput;
  tensor::Shape shape{};  ///< of one sample, as the graph sees it
  Form form = Form::whole;
  ops::Extent2 padding{0, 0};
};

/// Whether the node's axis is that of the channels.
bool is_along_channels(const NodeReader& node, const tensor::Shape& src);

/// The shape of one sample that a Reshape to `wanted` gives; the first size must be the batch.
tensor::Shape reshaped(const NodeReader& node, const tensor::Shape& src, const Sizes& wanted);
tensor::Shape flattened(const NodeReader& node, const tensor::Shape& src);
/// Of Squeeze and Unsqueeze.
tensor::Shape squeezed(const NodeReader& node, const tensor::Shape& src,
                       std::vector<std::int64_t> axes);

/// Zeros around an image.
Value padded(const NodeReader& node, const Value& src, const std::vector<std::int64_t>& pads);

struct SliceNumbers {
  std::vector<std::int64_t> starts, ends, axes, steps;
};
struct ChannelRange {
  std::int64_t start = 0;
  std::int64_t length = 0;
  std::int64_t axis = 0;  ///< of a sample
};
/// Refused where it takes part of several axes, or of the samples.
ChannelRange sliced_channels(const NodeReader& node, const tensor::Shape& src,
                             const SliceNumbers& numbers);
/// One range for each output of a Split along an axis of the sample.
std::vector<ChannelRange> split_ranges(const NodeReader& node, const tensor::Shape& src,
                                       std::vector<std::int64_t> said);

}  // namespace plait::onnx
