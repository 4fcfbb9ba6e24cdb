// Names, stored tensors and the frame of a graph. Sparse matrices become dense, up to a limit.
#include "onnx/graph_writer.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "graph/parameters.hpp"
#include "graph/shapes.hpp"
#include "onnx/turned.hpp"

namespace plait::onnx {

namespace {

using namespace onnx_graph;

constexpr std::int64_t kOpset = 13;
constexpr std::int64_t kMostDenseElements = std::int64_t{1} << 29;  // 2 GiB of floats

std::vector<std::int64_t> with_batch(const tensor::Shape& sample) {
  const tensor::Shape batch = sample.with_front(kSymbolic);
  return {batch.dims().begin(), batch.dims().end()};
}

tensor::Tensor dense(const tensor::SparsePattern& pattern, const tensor::Tensor& values,
                     const std::string& name) {
  if (pattern.rows > kMostDenseElements / pattern.columns) {
    user_error("'{}' is sparse, {} x {}: too large for ONNX, where it would be dense", name,
               pattern.rows, pattern.columns);
  }
  tensor::Tensor matrix(tensor::Shape{pattern.rows, pattern.columns});
  std::size_t next = 0;
  for (std::int64_t row = 0; row < pattern.rows; ++row) {
    for (const std::int32_t column : pattern.row(row)) {
      matrix.floats()[static_cast<std::size_t>(row * pattern.columns + column)] =
          values.floats()[next++];
    }
  }
  return matrix;
}

}  // namespace

GraphWriter::GraphWriter(const std::vector<checkpoint::NamedTensor>& weights,
                         const std::string& source)
    : source_(source) {
  graph_.opset = kOpset;
  for (const checkpoint::NamedTensor& one : weights) weights_[one.name] = &one.tensor;
}

void GraphWriter::begin(const ops::Operation& layer, Place place) {
  place_ = std::move(place);
  parameters_.clear();
  for (const ops::ParameterSpec& parameter : ops::parameters_of(layer, place_.shape())) {
    const bool shared = parameter.trainable && !place_.weights.empty();
    const std::string name = (shared ? place_.weights : place_.name) + "." + parameter.name;
    const bool turns = multiplies_rows(layer, place_.shape()) && parameters_.empty();
    if (shared) {
      parameters_.push_back(
          turned_.contains(name) == turns
              ? name
              : step("Transpose", "weight", {name}, {{"perm", std::vector<std::int64_t>{1, 0}}}));
      continue;
    }
    tensor::Tensor values = weight(name, parameter);
    if (turns) turned_.insert(name);
    graph_.initializers.push_back({name, turns ? turned(values) : std::move(values)});
    parameters_.push_back(name);
  }
}

tensor::Tensor GraphWriter::weight(const std::string& name, const ops::ParameterSpec& spec) const {
  const auto found = weights_.find(name);
  if (found == weights_.end()) {
    user_error("{}: tensor '{}' is missing; does the file belong to another model?", source_, name);
  }
  const tensor::Tensor& tensor = *found->second;
  if (tensor.shape() != spec.shape || tensor.desc().dtype != tensor::DType::f32) {
    user_error("{}: tensor '{}' is {} {}, but the model needs f32 {}", source_, name,
               tensor::name_of(tensor.desc().dtype), tensor.shape(), spec.shape);
  }
  return spec.pattern == nullptr ? tensor : dense(*spec.pattern, tensor, name);
}

std::string GraphWriter::emit(const std::string& op, std::vector<Attribute> attributes) {
  std::vector<std::string> inputs = place_.srcs;
  inputs.insert(inputs.end(), parameters_.begin(), parameters_.end());
  return step(op, "", std::move(inputs), std::move(attributes));
}

std::string GraphWriter::step(const std::string& op, const std::string& part,
                              std::vector<std::string> inputs, std::vector<Attribute> attributes) {
  const std::string name = part.empty() ? place_.name : place_.name + "/" + part;
  graph_.nodes.push_back({.name = name,
                          .op = op,
                          .inputs = std::move(inputs),
                          .outputs = {name + ".dst"},
                          .attributes = std::move(attributes)});
  return name + ".dst";
}

std::string GraphWriter::scalar(float value) {
  const std::string name = fmt::format("/{}", value);
  if (scalars_.insert(name).second) {
    tensor::Tensor tensor{tensor::Shape{}};
    tensor.floats()[0] = value;
    graph_.initializers.push_back({name, std::move(tensor)});
  }
  return name;
}

std::string GraphWriter::integers(const std::string& part,
                                  const std::vector<std::int64_t>& values) {
  tensor::Tensor tensor(tensor::Shape{static_cast<std::int64_t>(values.size())},
                        tensor::DType::i64);
  std::ranges::copy(values, tensor.as<std::int64_t>().begin());
  return floats(part, tensor);
}

std::string GraphWriter::floats(const std::string& part, const tensor::Tensor& values) {
  const std::string name = place_.name + "/" + part;
  graph_.initializers.push_back({name, values});
  return name;
}

void GraphWriter::need_opset(std::int64_t opset) { graph_.opset = std::max(graph_.opset, opset); }

std::string GraphWriter::input_name(const graph::ModelSpec& model) {
  return model.input_type == tensor::DType::i32 ? "tokens" : "images";
}

Graph GraphWriter::finish(const graph::ModelSpec& model, const std::string& value) {
  graph_.name = model.name;
  graph_.inputs = {{.name = input_name(model),
                    .dims = with_batch(model.input),
                    .integers = model.input_type == tensor::DType::i32}};
  graph_.outputs = {{"logits", with_batch(graph::border_shapes(model).back())}};
  graph_.nodes.push_back(
      {.name = "logits", .op = "Identity", .inputs = {value}, .outputs = {"logits"}});
  return std::move(graph_);
}

}  // namespace plait::onnx
