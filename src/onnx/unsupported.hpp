// The nodes that plait has no layer for, refused all at once.
#pragma once

#include "onnx/node_reader.hpp"

namespace plait::onnx {

/// Whether some node with this operator can be read.
bool knows_operator(const std::string& op);

class Unsupported {
 public:
  void add(const NodeReader& node);
  bool empty() const { return nodes_.empty(); }
  /// UserError with every operator and the first nodes of each, if there are any.
  void refuse_any(const std::string& source) const;

 private:
  std::vector<std::pair<std::string, std::string>> nodes_;  ///< operators and names, both shown
};

}  // namespace plait::onnx
