// A graph as ONNX bytes.
#include <onnx/onnx_pb.h>

#include <limits>

#include "base/error.hpp"
#include "base/out_file.hpp"
#include "onnx/file.hpp"

namespace plait::onnx::onnx_graph {

namespace {

/// Of ONNX 1.8, as is the operator set 13; of 1.10 for later sets.
int ir_version(std::int64_t opset) { return opset <= 13 ? 7 : 8; }

void put(::onnx::TensorProto& to, const std::string& name, const tensor::Tensor& tensor) {
  to.set_name(name);
  for (const std::int64_t extent : tensor.shape().dims()) to.add_dims(extent);
  to.set_data_type(tensor.desc().dtype == tensor::DType::i64 ? ::onnx::TensorProto::INT64
                                                             : ::onnx::TensorProto::FLOAT);
  to.set_raw_data(tensor.data(), tensor.bytes());
}

struct PutAttribute {
  ::onnx::AttributeProto& to;

  void operator()(std::int64_t value) const {
    to.set_type(::onnx::AttributeProto::INT);
    to.set_i(value);
  }
  void operator()(float value) const {
    to.set_type(::onnx::AttributeProto::FLOAT);
    to.set_f(value);
  }
  void operator()(const std::string& value) const {
    to.set_type(::onnx::AttributeProto::STRING);
    to.set_s(value);
  }
  void operator()(const std::vector<std::int64_t>& values) const {
    to.set_type(::onnx::AttributeProto::INTS);
    for (const std::int64_t value : values) to.add_ints(value);
  }
  void operator()(const std::vector<float>& values) const {
    to.set_type(::onnx::AttributeProto::FLOATS);
    for (const float value : values) to.add_floats(value);
  }
  void operator()(const tensor::Tensor& value) const {
    to.set_type(::onnx::AttributeProto::TENSOR);
    put(*to.mutable_t(), "", value);
  }
};

void put(::onnx::ValueInfoProto& to, const GraphValue& value) {
  to.set_name(value.name);
  ::onnx::TypeProto::Tensor& type = *to.mutable_type()->mutable_tensor_type();
  type.set_elem_type(value.integers ? ::onnx::TensorProto::INT64 : ::onnx::TensorProto::FLOAT);
  for (const std::int64_t extent : value.dims) {
    ::onnx::TensorShapeProto::Dimension& dimension = *type.mutable_shape()->add_dim();
    if (extent == kSymbolic) {
      dimension.set_dim_param("N");
    } else {
      dimension.set_dim_value(extent);
    }
  }
}

void put(::onnx::NodeProto& to, const GraphNode& node) {
  to.set_name(node.name);
  to.set_op_type(node.op);
  for (const std::string& input : node.inputs) to.add_input(input);
  for (const std::string& output : node.outputs) to.add_output(output);
  for (const Attribute& attribute : node.attributes) {
    ::onnx::AttributeProto& proto = *to.add_attribute();
    proto.set_name(attribute.name);
    std::visit(PutAttribute{proto}, attribute.value);
  }
}

}  // namespace

bool has_onnx() { return true; }

std::string print_onnx(const Graph& graph) {
  std::size_t bytes = 0;
  for (const checkpoint::NamedTensor& one : graph.initializers) bytes += one.tensor.bytes();
  const auto check_size = [&] {
    if (bytes <= kMostBytes) return;
    user_error(
        "'{}' has {} bytes of weights, and an ONNX file holds less than 2 GiB; write "
        ".safetensors",
        graph.name, bytes);
  };
  check_size();
  ::onnx::ModelProto model;
  model.set_ir_version(ir_version(graph.opset));
  model.set_producer_name("plait");
  ::onnx::OperatorSetIdProto& opset = *model.add_opset_import();
  opset.set_domain("");
  opset.set_version(graph.opset);
  ::onnx::GraphProto& to = *model.mutable_graph();
  to.set_name(graph.name);
  for (const GraphNode& node : graph.nodes) put(*to.add_node(), node);
  for (const checkpoint::NamedTensor& one : graph.initializers)
    put(*to.add_initializer(), one.name, one.tensor);
  for (const GraphValue& value : graph.inputs) put(*to.add_input(), value);
  for (const GraphValue& value : graph.outputs) put(*to.add_output(), value);
  for (const auto& [key, value] : graph.metadata) {
    ::onnx::StringStringEntryProto& entry = *model.add_metadata_props();
    entry.set_key(key);
    entry.set_value(value);
  }
  bytes = model.ByteSizeLong();
  check_size();
  return model.SerializeAsString();
}

void write_onnx(const std::filesystem::path& path, const Graph& graph) {
  write_out_file(path, print_onnx(graph));
}

}  // namespace plait::onnx::onnx_graph
