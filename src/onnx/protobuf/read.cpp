// ONNX bytes as a graph. Every size is held against the bytes that are there before it is used.
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <onnx/onnx_pb.h>

#include <bit>
#include <cstring>
#include <fstream>
#include <limits>
#include <set>
#include <type_traits>

#include "base/error.hpp"
#include "base/in_file.hpp"
#include "checkpoint/shown.hpp"
#include "onnx/file.hpp"

namespace plait::onnx::onnx_graph {

static_assert(std::endian::native == std::endian::little, "raw_data is little-endian");

namespace {

class Reader {
 public:
  explicit Reader(const std::string& source) : source_(source) {}

  tensor::Tensor tensor(const ::onnx::TensorProto& from, const std::string& what) const {
    if (from.data_location() == ::onnx::TensorProto::EXTERNAL || from.external_data_size() > 0) {
      user_error("{}: {} lies in another file; save the model in one piece", source_, what);
    }
    if (from.has_segment())
      user_error("{}: {} is stored in segments, which is not supported", source_, what);
    switch (from.data_type()) {
      case ::onnx::TensorProto::FLOAT: return values<float, float>(from, from.float_data(), what);
      case ::onnx::TensorProto::DOUBLE:
        return values<double, float>(from, from.double_data(), what);
      case ::onnx::TensorProto::INT64:
        return values<std::int64_t, std::int64_t>(from, from.int64_data(), what);
      case ::onnx::TensorProto::INT32:
        return values<std::int32_t, std::int64_t>(from, from.int32_data(), what);
      case ::onnx::TensorProto::BOOL:
        return values<std::uint8_t, std::int64_t>(from, from.int32_data(), what);
      default:
        user_error(
            "{}: {} has data type {}, but only float (1), int64 (7), int32 (6), bool (9) and "
            "double (11) are supported",
            source_, what, from.data_type());
    }
  }

  GraphNode node(const ::onnx::NodeProto& from, std::size_t number) const {
    GraphNode node{.name = from.name().empty() ? fmt::format("#{}", number) : from.name(),
                   .op = from.op_type(),
                   .inputs = {from.input().begin(), from.input().end()},
                   .outputs = {from.output().begin(), from.output().end()}};
    if (!from.domain().empty() && from.domain() != "ai.onnx") {
      node.op = from.domain() + "::" + node.op;
    }
    for (const ::onnx::AttributeProto& attribute : from.attribute()) {
      node.attributes.push_back({attribute.name(), value(attribute, node)});
    }
    return node;
  }

  GraphValue graph_value(const ::onnx::ValueInfoProto& from) const {
    GraphValue value{.name = from.name()};
    const int type = from.type().tensor_type().elem_type();
    value.integers = type == ::onnx::TensorProto::INT64 || type == ::onnx::TensorProto::INT32;
    for (const auto& dimension : from.type().tensor_type().shape().dim()) {
      value.dims.push_back(dimension.has_dim_value() && dimension.dim_value() > 0
                               ? dimension.dim_value()
                               : kSymbolic);
    }
    return value;
  }

 private:
  /// Stored as raw bytes of type Stored, or in a list of their own; all become Kept.
  template <class Stored, class Kept, class List>
  tensor::Tensor values(const ::onnx::TensorProto& from, const List& list,
                        const std::string& what) const {
    const bool raw = from.has_raw_data();
    const std::size_t there = raw ? from.raw_data().size() : static_cast<std::size_t>(list.size());
    const std::size_t count = raw ? there / sizeof(Stored) : there;
    const tensor::Shape shape = shape_of(from, count, what);
    constexpr tensor::DType dtype =
        std::is_same_v<Kept, float> ? tensor::DType::f32 : tensor::DType::i64;
    if (count != static_cast<std::size_t>(shape.elements()) ||
        (raw && there != count * sizeof(Stored))) {
      user_error("{}: {} is {} {} but has {} {}", source_, what, tensor::name_of(dtype), shape,
                 there, raw ? "bytes" : "values");
    }
    tensor::Tensor tensor(shape, dtype);
    if (std::is_same_v<Stored, Kept> && raw && count > 0) {
      std::memcpy(tensor.data(), from.raw_data().data(), there);
      return tensor;
    }
    for (std::size_t i = 0; i < count; ++i) {
      Stored value{};
      if (raw) {
        std::memcpy(&value, from.raw_data().data() + i * sizeof(Stored), sizeof(Stored));
      } else {
        value = static_cast<Stored>(list.Get(static_cast<int>(i)));
      }
      tensor.as<Kept>()[i] = static_cast<Kept>(value);
    }
    return tensor;
  }

  /// Its product is at most `elements`.
  tensor::Shape shape_of(const ::onnx::TensorProto& from, std::size_t elements,
                         const std::string& what) const {
    std::vector<std::int64_t> dims(from.dims().begin(), from.dims().end());
    std::int64_t product = 1;
    const auto limit = static_cast<std::int64_t>(elements);
    if (elements == 0 && dims == std::vector<std::int64_t>{0}) return tensor::Shape{0};
    for (const std::int64_t extent : dims) {
      if (extent < 1 || extent > limit / product) {
        user_error("{}: {} says {}, which does not fit its {} values", source_, what,
                   tensor::Shape(dims), elements);
      }
      product *= extent;
    }
    return tensor::Shape(std::move(dims));
  }

  AttributeValue value(const ::onnx::AttributeProto& from, const GraphNode& node) const {
    switch (from.type()) {
      case ::onnx::AttributeProto::INT: return from.i();
      case ::onnx::AttributeProto::FLOAT: return from.f();
      case ::onnx::AttributeProto::STRING: return from.s();
      case ::onnx::AttributeProto::INTS:
        return std::vector<std::int64_t>(from.ints().begin(), from.ints().end());
      case ::onnx::AttributeProto::FLOATS:
        return std::vector<float>(from.floats().begin(), from.floats().end());
      case ::onnx::AttributeProto::TENSOR:
        return tensor(from.t(),
                      fmt::format("attribute {} of node {}", checkpoint::shown(from.name()),
                                  checkpoint::shown(node.name)));
      default:
        user_error("{}: attribute {} of node {} ({}) is of a kind that plait does not support",
                   source_, checkpoint::shown(from.name()), checkpoint::shown(node.name),
                   checkpoint::shown(node.op));
    }
  }

  const std::string& source_;
};

}  // namespace

Graph parse_onnx(std::span<const std::byte> bytes, const std::string& source) {
  if (bytes.size() > kMostBytes) {
    user_error("{}: {} bytes are more than an ONNX file can have (2 GiB)", source, bytes.size());
  }
  ::onnx::ModelProto model;
  google::protobuf::io::ArrayInputStream stream(bytes.data(), static_cast<int>(bytes.size()));
  if (!model.ParsePartialFromZeroCopyStream(&stream) || !model.has_graph()) {
    user_error("{}: is not an ONNX model, or is damaged", source);
  }
  Graph graph{.name = model.graph().name()};
  for (const ::onnx::OperatorSetIdProto& opset : model.opset_import()) {
    if (opset.domain().empty() || opset.domain() == "ai.onnx") graph.opset = opset.version();
  }
  for (const ::onnx::StringStringEntryProto& entry : model.metadata_props()) {
    graph.metadata[entry.key()] = entry.value();
  }
  const Reader reader(source);
  std::set<std::string_view> constants;
  for (const ::onnx::TensorProto& one : model.graph().initializer()) {
    graph.initializers.push_back(
        {one.name(), reader.tensor(one, "tensor " + checkpoint::shown(one.name()))});
    constants.insert(one.name());
  }
  if (model.graph().sparse_initializer_size() > 0) {
    user_error("{}: has sparse tensors, which plait does not support; save them dense", source);
  }
  for (const ::onnx::NodeProto& one : model.graph().node()) {
    graph.nodes.push_back(reader.node(one, graph.nodes.size()));
  }
  for (const ::onnx::ValueInfoProto& one : model.graph().input()) {
    if (!constants.contains(one.name())) graph.inputs.push_back(reader.graph_value(one));
  }
  for (const ::onnx::ValueInfoProto& one : model.graph().output()) {
    graph.outputs.push_back(reader.graph_value(one));
  }
  return graph;
}

Graph read_onnx(const std::filesystem::path& path) {
  check_input_file(path);
  std::ifstream file(path, std::ios::binary);
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (!file || error) {
    user_error("cannot open '{}': {}", path.string(),
               error ? error.message() : std::string("it cannot be read"));
  }
  if (size > kMostBytes) {
    user_error("{}: {} bytes are more than an ONNX file can have (2 GiB)", path.string(), size);
  }
  std::string bytes(size, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(size));
  if (static_cast<std::uintmax_t>(file.gcount()) != size) {
    fail("'{}' became shorter while it was read", path.string());
  }
  return parse_onnx(std::as_bytes(std::span(bytes)), path.string());
}

}  // namespace plait::onnx::onnx_graph
