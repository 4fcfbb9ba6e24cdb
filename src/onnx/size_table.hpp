// The sizes that a graph computes on the way, by the names of their values.
#pragma once

#include <map>

#include "onnx/sizes.hpp"

namespace plait::onnx {

class SizeTable {
 public:
  /// Results without the number of samples become constants.
  explicit SizeTable(NodeReader::Constants& constants) : constants_(constants) {}

  /// Input i as sizes, stored or folded.
  std::optional<Sizes> find(const NodeReader& node, std::size_t i) const;
  /// Whether the node computes with sizes; its result is kept.
  bool fold(const NodeReader& node);
  /// Keeps the node's result.
  bool put(const NodeReader& node, Sizes result);

  /// Of input i, or of an attribute where there is none; refused where it is computed in a way that
  /// is not folded.
  Sizes said(const NodeReader& node, const char* attribute, std::size_t i) const;
  /// The same, refused where it depends on the number of samples.
  std::vector<std::int64_t> integers(const NodeReader& node, const char* attribute,
                                     std::size_t i) const;

 private:
  NodeReader::Constants& constants_;
  std::map<std::string, Sizes> sizes_;
};

}  // namespace plait::onnx
