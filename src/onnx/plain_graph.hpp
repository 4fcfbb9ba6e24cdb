// An ONNX graph made ready for reading: nodes in order, constants gathered, names resolved.
#pragma once

#include "onnx/node_reader.hpp"

namespace plait::onnx {

/// Every input of a node is the graph's, a constant, or an output of an earlier node.
struct PlainGraph {
  std::vector<onnx_graph::GraphNode> nodes;
  NodeReader::Constants constants;
  /// Of constants that are copies of a stored tensor (by Identity or Transpose): its name.
  std::map<std::string, std::string, std::less<>> copies{};
  std::string output;  ///< the value that leaves the graph
};

/// Without Constant and Identity nodes. UserError with `source` for a graph with other than one
/// input and one output, for a value that nothing writes, that only a later node writes (a cycle),
/// or that two write.
PlainGraph plain_graph(const onnx_graph::Graph& graph, const std::string& source);

/// Drops the nodes that the output does not depend on.
void drop_unused(PlainGraph& graph);

}  // namespace plait::onnx
