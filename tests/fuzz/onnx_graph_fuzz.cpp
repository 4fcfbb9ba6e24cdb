// Any bytes given to the ONNX reader are a graph or refused with a UserError; a graph is read as
// layers or refused, these are a model or refused, its weights fit another model or are refused,
// and it can be written and read again.
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>

#include "base/error.hpp"
#include "graph/check.hpp"
#include "graph/model_file.hpp"
#include "onnx/file.hpp"
#include "onnx/match.hpp"
#include "onnx/to_model.hpp"

namespace {

const plait::graph::ModelSpec& small_model() {
  static const plait::graph::ModelSpec model = plait::graph::load_model("mlp:3", {4}, 2);
  return model;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  plait::onnx::onnx_graph::Graph graph;
  try {
    graph = plait::onnx::onnx_graph::parse_onnx(std::as_bytes(std::span(data, size)), "fuzz");
  } catch (const plait::UserError&) {
    return 0;
  }
  const std::string text = plait::onnx::onnx_graph::print_onnx(graph);
  const auto again = plait::onnx::onnx_graph::parse_onnx(std::as_bytes(std::span(text)), "again");
  if (again.nodes.size() != graph.nodes.size()) std::abort();
  try {
    const plait::onnx::ImportedNetwork network = plait::onnx::layers_of(graph, "fuzz");
    try {
      const plait::onnx::ImportedModel imported = plait::onnx::to_model(network, "fuzz", "fuzz");
      plait::graph::check_model(imported.model, "fuzz");  // whatever is taken is a model
    } catch (const plait::UserError&) {
    }
    const plait::onnx::MatchedWeights weights =
        plait::onnx::match_weights(small_model(), network, "fuzz");
    if (weights.tensors.size() != 4) std::abort();
  } catch (const plait::UserError&) {
  }
  return 0;
}
