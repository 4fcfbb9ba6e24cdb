// An ONNX graph made ready for reading: nodes in order, constants gathered, names resolved.
#pragma once

#include <set>

#include "onnx/node_reader.hpp"

namespace plait::onnx {

/// Where a constant comes from that is a stored tensor under another name.
struct ConstantCopy {
  std::string of;       ///< the stored tensor
  bool turned = false;  ///< transposed
  bool merged = false;  ///< by Identity, which exporters write also for tensors that are only equal
};

/// Every input of a node is the graph's, a constant, or an output of an earlier node.
struct PlainGraph {
  std::vector<onnx_graph::GraphNode> nodes;
  NodeReader::Constants constants;
  std::map<std::string, ConstantCopy, std::less<>> copies{};
  std::set<std::string, std::less<>> literals{};  ///< constants that nodes state
  std::string output;                             ///< the value that leaves the graph
};

/// Without Constant and Identity nodes. UserError with `source` for a graph with other than one
/// input and one output, for a value that nothing writes, that only a later node writes (a cycle),
/// or that two write.
PlainGraph plain_graph(const onnx_graph::Graph& graph, const std::string& source);

/// Drops the nodes that the output does not depend on.
void drop_unused(PlainGraph& graph);

}  // namespace plait::onnx
