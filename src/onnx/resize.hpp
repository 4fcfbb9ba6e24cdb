// Resize of ONNX as an upsampling of plait.
#pragma once

#include "onnx/sizes.hpp"

namespace plait::onnx {

/// By whole factors, from stored scales or from `sizes` of the result with the batch; refused for
/// any other.
ops::Upsample upsample_of(const NodeReader& node, const tensor::Shape& src,
                          const std::optional<Sizes>& sizes);

}  // namespace plait::onnx
