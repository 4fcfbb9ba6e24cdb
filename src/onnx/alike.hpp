// When a layer of a file can be a layer of a model.
#pragma once

#include <optional>

#include "graph/spec.hpp"

namespace plait::onnx {

/// Equal for this input, but for what a file does not say or does not need to: names, how weights
/// begin, biases.
bool alike(const ops::Operation& ours, const ops::Operation& theirs, const tensor::Shape& src);

/// What a layer is in an ONNX file, for this input; none where it is nothing there.
std::optional<ops::Operation> as_exported(const ops::Operation& layer, const tensor::Shape& src);

}  // namespace plait::onnx
