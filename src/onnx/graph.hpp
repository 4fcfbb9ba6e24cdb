// An ONNX graph as a plain value: what of the format this room reads and writes, without protobuf.
// Says nothing of what the operators mean.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "checkpoint/safetensors.hpp"

namespace plait::onnx::onnx_graph {

using AttributeValue = std::variant<std::int64_t, float, std::string, std::vector<std::int64_t>,
                                    std::vector<float>, tensor::Tensor>;

struct Attribute {
  std::string name;
  AttributeValue value;
};

/// An input that was left away is "".
struct GraphNode {
  std::string name;
  std::string op;  ///< "Conv"; of another domain than ONNX's own: "domain::Op"
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::vector<Attribute> attributes = {};
};

constexpr std::int64_t kSymbolic = -1;

/// An input or an output. `dims` has kSymbolic where the size is a name or not said.
struct GraphValue {
  std::string name;
  std::vector<std::int64_t> dims = {};
  bool integers = false;  ///< int64; otherwise floats
};

struct Graph {
  std::string name = {};
  std::int64_t opset = 0;
  std::vector<GraphNode> nodes = {};
  std::vector<checkpoint::NamedTensor> initializers = {};
  std::vector<GraphValue> inputs = {};  ///< without those that are initializers
  std::vector<GraphValue> outputs = {};
  checkpoint::Metadata metadata = {};  ///< of the file
};

}  // namespace plait::onnx::onnx_graph
