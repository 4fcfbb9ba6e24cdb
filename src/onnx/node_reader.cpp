// Typed access to a node's inputs, constants and attributes; every refusal names the node and its
// operator.
#include "onnx/node_reader.hpp"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.hpp"
#include "checkpoint/shown.hpp"
#include "graph/check.hpp"

namespace plait::onnx {

std::string NodeReader::name() const {
  return fmt::format("{} ({})", checkpoint::shown(node_.name), node_.op.substr(0, 80));
}

void NodeReader::refuse_text(const std::string& text) const {
  user_error("{}: node {}: {}", source_, name(), text);
}

const std::string& NodeReader::input(std::size_t i) const {
  if (!has_input(i)) refuse("input {} is missing", i);
  return node_.inputs[i];
}

const std::string& NodeReader::output() const {
  if (node_.outputs.empty() || node_.outputs[0].empty()) refuse("it has no output");
  return node_.outputs[0];
}

const tensor::Tensor* NodeReader::constant(std::size_t i) const {
  if (!has_input(i)) return nullptr;
  const auto found = constants_.find(node_.inputs[i]);
  return found == constants_.end() ? nullptr : &found->second;
}

const tensor::Tensor& NodeReader::floats(std::size_t i, std::size_t rank) const {
  const std::string& value = input(i);
  const tensor::Tensor* tensor = constant(i);
  if (tensor == nullptr) {
    refuse("{} is computed in the graph, but must be a stored tensor", checkpoint::shown(value));
  }
  if (tensor->desc().dtype != tensor::DType::f32 || tensor->shape().rank() != rank) {
    refuse("{} is {} {}, but must be f32 of rank {}", checkpoint::shown(value),
           tensor::name_of(tensor->desc().dtype), tensor->shape(), rank);
  }
  return *tensor;
}

std::optional<std::vector<std::int64_t>> NodeReader::whole_numbers(std::size_t i) const {
  const tensor::Tensor* tensor = constant(i);
  if (tensor == nullptr || tensor->desc().dtype != tensor::DType::i64 ||
      tensor->shape().rank() > 1) {
    return std::nullopt;
  }
  const auto values = tensor->as<std::int64_t>();
  return std::vector<std::int64_t>(values.begin(), values.end());
}

const tensor::Tensor* NodeReader::tensor() const {
  for (const onnx_graph::Attribute& attribute : node_.attributes) {
    if (const auto* tensor = std::get_if<tensor::Tensor>(&attribute.value)) return tensor;
  }
  return nullptr;
}

bool NodeReader::has_attribute(const char* name) const {
  return std::ranges::find(node_.attributes, name, &onnx_graph::Attribute::name) !=
         node_.attributes.end();
}

const float* NodeReader::scalar(std::size_t i) const {
  const tensor::Tensor* tensor = constant(i);
  const bool one = tensor != nullptr && tensor->desc().dtype == tensor::DType::f32 &&
                   tensor->shape().elements() == 1;
  return one ? tensor->floats().data() : nullptr;
}

template <class T>
const T* NodeReader::find(const char* name) const {
  const auto found = std::ranges::find(node_.attributes, name, &onnx_graph::Attribute::name);
  if (found == node_.attributes.end()) return nullptr;
  const T* value = std::get_if<T>(&found->value);
  if (value == nullptr) refuse("attribute '{}' has the wrong type", name);
  return value;
}

std::int64_t NodeReader::integer(const char* name, std::int64_t otherwise) const {
  const auto* value = find<std::int64_t>(name);
  return value == nullptr ? otherwise : *value;
}

float NodeReader::real(const char* name, float otherwise) const {
  const auto* value = find<float>(name);
  return value == nullptr ? otherwise : *value;
}

const tensor::Tensor* NodeReader::tensor(const char* name) const {
  return find<tensor::Tensor>(name);
}

std::string NodeReader::text(const char* name, const std::string& otherwise) const {
  const auto* value = find<std::string>(name);
  return value == nullptr ? otherwise : *value;
}

std::vector<std::int64_t> NodeReader::integers(const char* name,
                                               std::vector<std::int64_t> otherwise) const {
  const auto* values = find<std::vector<std::int64_t>>(name);
  return values == nullptr ? std::move(otherwise) : *values;
}

ops::Extent2 NodeReader::extent(const char* name, std::int64_t least,
                                const std::vector<std::int64_t>& otherwise) const {
  const std::vector<std::int64_t> values = integers(name, otherwise);
  const bool fits = values.size() == 2 && std::ranges::all_of(values, [&](std::int64_t value) {
                      return value >= least && value <= ops::kMaxWindow;
                    });
  if (!fits) {
    refuse("{} is [{}], but must be height and width, {} to {} each", name, fmt::join(values, ", "),
           least, ops::kMaxWindow);
  }
  return {values[0], values[1]};
}

std::int64_t NodeReader::length(const char* name, std::int64_t least,
                                std::int64_t otherwise) const {
  const std::vector<std::int64_t> values = integers(name, {otherwise});
  if (values.size() != 1 || values[0] < least || values[0] > ops::kMaxWindow) {
    refuse("{} is [{}], but must be one number", name, fmt::join(values, ", "));
  }
  return values[0];
}

std::vector<std::int64_t> NodeReader::pads_of(std::size_t axes) const {
  const std::string automatic = text("auto_pad", "NOTSET");
  if (automatic != "NOTSET" && automatic != "VALID") {
    refuse("auto_pad {} is not supported; give pads as numbers", checkpoint::shown(automatic));
  }
  const std::vector<std::int64_t> pads = integers("pads", std::vector<std::int64_t>(2 * axes, 0));
  if (pads.size() != 2 * axes) {
    refuse("pads [{}] must be {} numbers", fmt::join(pads, ", "), 2 * axes);
  }
  for (std::size_t i = 0; i < 2 * axes; ++i) {
    if (pads[i] < 0 || pads[i] > ops::kMaxWindow) {
      refuse("pads [{}] must be between 0 and {}", fmt::join(pads, ", "), ops::kMaxWindow);
    }
    if (pads[i] != pads[(i + axes) % (2 * axes)]) {
      refuse("pads [{}] are not equal at both ends", fmt::join(pads, ", "));
    }
  }
  return pads;
}

ops::Extent2 NodeReader::padding() const {
  const std::vector<std::int64_t> pads = pads_of(2);
  return {pads[0], pads[1]};
}

std::int64_t NodeReader::sequence_padding() const { return pads_of(1)[0]; }

void NodeReader::expect(const char* name, std::int64_t value) const {
  if (integer(name, value) != value) {
    refuse("{} is {}, but plait reads only {}", name, integer(name, value), value);
  }
}

}  // namespace plait::onnx
