// One node of an ONNX graph, with every refusal that its attributes and constants can meet.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "graph/spec.hpp"
#include "onnx/graph.hpp"

namespace plait::onnx {

class NodeReader {
 public:
  using Constants = std::map<std::string, tensor::Tensor>;

  NodeReader(const onnx_graph::GraphNode& node, const Constants& constants,
             const std::string& source)
      : node_(node), constants_(constants), source_(source) {}

  const onnx_graph::GraphNode& node() const { return node_; }
  const std::string& op() const { return node_.op; }
  /// "'Conv_0' (Conv)".
  std::string name() const;
  template <class... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) const {
    refuse_text(fmt::format(format, std::forward<Args>(args)...));
  }

  bool has_input(std::size_t i) const {
    return i < node_.inputs.size() && !node_.inputs[i].empty();
  }
  /// The name of input i; refused where it is left away.
  const std::string& input(std::size_t i) const;
  std::size_t input_count() const { return node_.inputs.size(); }
  const std::vector<std::string>& outputs() const { return node_.outputs; }
  bool has_attribute(const char* name) const;
  /// The first attribute that is a tensor; null: none is.
  const tensor::Tensor* tensor() const;
  /// The only output that is used.
  const std::string& output() const;

  /// Null where the input is left away, or computed.
  const tensor::Tensor* constant(std::size_t i) const;
  /// Refused where it is not one of this type and rank.
  const tensor::Tensor& floats(std::size_t i, std::size_t rank) const;
  /// The values of a stored tensor of whole numbers, of rank 0 or 1; none where it is something
  /// else.
  std::optional<std::vector<std::int64_t>> whole_numbers(std::size_t i) const;
  /// The value of a constant with one element.
  const float* scalar(std::size_t i) const;

  std::int64_t integer(const char* name, std::int64_t otherwise) const;
  float real(const char* name, float otherwise) const;
  /// Null where it is left away.
  const tensor::Tensor* tensor(const char* name) const;
  std::string text(const char* name, const std::string& otherwise) const;
  std::vector<std::int64_t> integers(const char* name, std::vector<std::int64_t> otherwise) const;
  /// Two numbers, height and width, from `least` on.
  ops::Extent2 extent(const char* name, std::int64_t least,
                      const std::vector<std::int64_t>& otherwise = {}) const;
  /// The same with one number, of sequences.
  std::int64_t length(const char* name, std::int64_t least, std::int64_t otherwise) const;
  /// Of "pads", equal at both ends; refuses auto_pad.
  ops::Extent2 padding() const;
  std::int64_t sequence_padding() const;
  /// Refused unless the attribute has this value or is left away.
  void expect(const char* name, std::int64_t value) const;

 private:
  [[noreturn]] void refuse_text(const std::string& text) const;
  /// Of so many axes.
  std::vector<std::int64_t> pads_of(std::size_t axes) const;
  template <class T>
  const T* find(const char* name) const;

  const onnx_graph::GraphNode& node_;
  const Constants& constants_;
  const std::string& source_;
};

/// Whether a Transpose with this order changes nothing: 0, 1, 2, ...
inline bool keeps_order(const std::vector<std::int64_t>& order) {
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (order[i] != static_cast<std::int64_t>(i)) return false;
  }
  return true;
}

}  // namespace plait::onnx
