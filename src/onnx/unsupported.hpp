// The nodes that plait has no layer for, refused all at once.
#pragma once

#include "onnx/node_reader.hpp"

namespace plait::onnx {

/// Whether some node with this operator can be read.
bool knows_operator(const std::string& op);

class Unsupported {
 public:
  /// `why` as why_no_layer says it.
  void add(const NodeReader& node, std::string why = {});
  bool empty() const { return nodes_.empty(); }
  /// UserError with every operator and the first nodes of each, if there are any.
  void refuse_any(const std::string& source) const;

 private:
  struct Refused {
    std::string op, name;  ///< both shown
    std::string why;
  };
  std::string text(const Refused& first) const;

  std::vector<Refused> nodes_;
};

}  // namespace plait::onnx
