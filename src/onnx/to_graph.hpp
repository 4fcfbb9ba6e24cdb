// A network with its weights as an ONNX graph that computes what plait computes in evaluation.
#pragma once

#include "graph/spec.hpp"
#include "onnx/graph.hpp"

namespace plait::onnx {

/// Input "images", output "logits", the batch a symbol; nodes are named "block.layer", weights as
/// in plait's own files. Operator set 13. Dropout is left out; GELU is spelled with Erf; a sparse
/// layer becomes a dense one. UserError where a weight is missing or does not fit, with `source`
/// (where they come from).
onnx_graph::Graph to_onnx(const graph::ModelSpec& model,
                          const std::vector<checkpoint::NamedTensor>& weights,
                          const std::string& source);

}  // namespace plait::onnx
