// Each kind of layer as ONNX operators.
#pragma once

#include "onnx/graph_writer.hpp"

namespace plait::onnx {

/// The value that the layer leaves; the writer has begun with it.
std::string write_layer(const ops::Operation& layer, GraphWriter& writer);

}  // namespace plait::onnx
