// Walks the nodes in order with the shape of every value: layers are collected, sizes computed,
// views resolved.
#include "onnx/layers.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/error.hpp"
#include "checkpoint/shown.hpp"
#include "onnx/layer_list.hpp"
#include "onnx/no_layer.hpp"
#include "onnx/patterns.hpp"
#include "onnx/read_layer.hpp"
#include "onnx/resize.hpp"
#include "onnx/size_table.hpp"
#include "onnx/stored.hpp"
#include "onnx/unsupported.hpp"
#include "onnx/view.hpp"
#include "ops/table.hpp"

namespace plait::onnx {

namespace {

using onnx_graph::GraphNode;

class Importer {
 public:
  Importer(PlainGraph graph, const std::string& source, const onnx_graph::GraphValue& input)
      : graph_(std::move(graph)),
        source_(source),
        list_(source, tensor::Shape(std::vector<std::int64_t>(
                          input.dims.begin() + std::min<std::ptrdiff_t>(1, std::ssize(input.dims)),
                          input.dims.end()))) {
    values_[input.name] = list_.input();
    has_ids_ = input.integers;
  }

  ImportedNetwork run() {
    for (const GraphNode& one : graph_.nodes) {
      const NodeReader node(one, graph_.constants, source_);
      if (is_no_layer(node)) unsupported_.add(node, why_no_layer(node, graph_.output));
    }
    try {
      for (const GraphNode& one : graph_.nodes) take(one);
    } catch (const UserError&) {
      if (unsupported_.empty()) throw;  // what plait does not know at all is said first
    }
    unsupported_.refuse_any(source_);
    const auto found = values_.find(graph_.output);
    if (found == values_.end() || found->second.form != Form::whole) {
      user_error("{}: the output {} is not the result of a supported layer", source_,
                 checkpoint::shown(graph_.output));
    }
    ImportedNetwork network = list_.finish(found->second.layer);
    network.notes = std::move(notes_);
    return network;
  }

 private:
  void take(const GraphNode& one) {
    const NodeReader node(one, graph_.constants, source_);
    const bool unread = std::ranges::any_of(
        one.inputs, [&](const std::string& input) { return unknown_.contains(input); });
    if (unread || is_no_layer(node)) {
      unknown_.insert(one.outputs.begin(), one.outputs.end());
      return;
    }
    if (folded(node)) return;
    if (one.op == "Split") {
      split(node);
      return;
    }
    if (const std::optional<Value> value = read(node)) {
      values_[node.output()] = *value;
      if (std::string more = trained_by_plait_only(graph_, node); !more.empty()) {
        notes_.push_back(std::move(more));
      }
      for (std::size_t i = 1; i < one.outputs.size(); ++i) unread_[one.outputs[i]] = node.name();
    } else {
      unsupported_.add(node, why_no_layer(node, graph_.output));
      unknown_.insert(one.outputs.begin(), one.outputs.end());
    }
  }

  /// Whether it is a node on sizes.
  bool folded(const NodeReader& node) {
    const bool shape = node.op() == "Shape" && !sizes_.find(node, 0);
    return shape ? sizes_.put(node, sizes_of(value(node, 0).shape)) : sizes_.fold(node);
  }

  Value value(const NodeReader& node, std::size_t i) const {
    const std::string& name = node.input(i);
    const auto found = values_.find(name);
    if (found != values_.end()) return found->second;
    if (unread_.contains(name)) {
      node.refuse("{} is a second output of {}, which is not supported", checkpoint::shown(name),
                  unread_.at(name));
    }
    node.refuse("{} is a stored tensor, where plait's layer reads a computed one",
                checkpoint::shown(name));
  }
  bool is_computed(const NodeReader& node, std::size_t i) const {
    return node.has_input(i) && values_.contains(node.input(i));
  }

  /// Whether it is of several tensors, none of which is a constant.
  static bool joins(const std::string& op) {
    const auto info = std::ranges::find(ops::operations(), op, &ops::OperationInfo::onnx);
    return info != ops::operations().end() && ops::inputs_of(info->usual).most > 1;
  }

  /// The input, where it is integers.
  bool is_ids(const Value& value) const { return has_ids_ && is_input(value); }

  /// None where plait has no layer for it.
  std::optional<Value> read(const NodeReader& node) {
    const std::string& op = node.op();
    if (op == "Gather") return embedding(node);
    for (std::size_t i = 0; node.has_input(i); ++i) {
      if (i > 0 && !joins(op)) break;  // it may be a constant
      if (!is_computed(node, i) && !unread_.contains(node.input(i))) return {};
    }
    if (op == "Pad") return pad(node);
    if (op == "Dropout") return dropout(node);
    if (op == "ReduceMean") return mean(node);
    if (op == "Slice") return slice(node);
    if (op == "LayerNormalization") return layer_norm(node);
    if (op == "Resize") return resize(node);
    if (op == "Cast") {
      const std::int64_t to = node.integer("to", 0);
      const bool ids = is_ids(value(node, 0)) && (to == 6 || to == 7);  // int32, int64
      return to == 1 || ids ? std::optional(value(node, 0)) : std::nullopt;
    }
    if (op == "Reshape" || op == "Squeeze" || op == "Unsqueeze" || op == "Flatten") {
      return list_.viewed(node, value(node, 0), target(node));
    }
    if (op == "Transpose") return list_.transposed(node, value(node, 0));
    if (op == "Concat" && !is_along_channels(node, value(node, 0).shape)) return {};
    std::optional<ReadLayer> layer = read_layer(node);
    if (!layer) return {};
    if (!layer->parameters.empty()) layer->stored = stored_tensors(graph_, node, layer->turned);
    if (ops::inputs_of(layer->layer).most == 1)
      return list_.add(node, std::move(*layer), value(node, 0));
    std::vector<Value> inputs;
    for (std::size_t i = 0; node.has_input(i); ++i) inputs.push_back(value(node, i));
    const bool is_concat = std::holds_alternative<ops::Concat>(layer->layer);
    if (is_concat && inputs.size() == 1) return inputs[0];
    return list_.join(node, layer->layer, std::move(inputs));
  }

  tensor::Shape target(const NodeReader& node) const {
    const tensor::Shape& src = value(node, 0).shape;
    if (node.op() == "Reshape") return reshaped(node, src, sizes_.said(node, "shape", 1));
    if (node.op() == "Flatten") return flattened(node, src);
    return squeezed(node, src, sizes_.integers(node, "axes", 1));
  }

  Value pad(const NodeReader& node) const {
    return padded(node, value(node, 0), sizes_.integers(node, "pads", 1));
  }

  /// Kept unless the file says that it does nothing; before opset 12 it cannot say so.
  Value dropout(const NodeReader& node) {
    const tensor::Tensor* training = node.constant(2);
    if (node.has_input(2) && training == nullptr) node.refuse("its training_mode is computed");
    const bool off = training != nullptr && training->desc().dtype == tensor::DType::i64 &&
                     training->shape().elements() == 1 && training->as<std::int64_t>()[0] == 0;
    const float* ratio = node.scalar(1);
    const float probability = ratio != nullptr ? *ratio : node.real("ratio", 0.5F);
    if (off || probability == 0) return value(node, 0);
    return list_.add(node, {ops::Dropout{decimal(probability)}}, value(node, 0));
  }

  /// Over height and width it is global pooling.
  std::optional<Value> mean(const NodeReader& node) {
    const Value src = value(node, 0);
    std::vector<std::int64_t> axes = sizes_.integers(node, "axes", 1);
    for (std::int64_t& axis : axes) axis += axis < 0 ? std::ssize(src.shape.dims()) + 1 : 0;
    std::ranges::sort(axes);
    if (src.shape.rank() != 3 || axes != std::vector<std::int64_t>{2, 3}) return {};
    const Value pooled = list_.add(node, {ops::GlobalAveragePool{}}, src);
    if (node.integer("keepdims", 1) != 0) return pooled;
    return list_.viewed(node, pooled, tensor::Shape{src.shape[0]});
  }

  Value resize(const NodeReader& node) {
    const Value src = value(node, 0);
    const ops::Upsample up = upsample_of(node, src.shape, sizes_.find(node, 3));
    return up.scale == ops::Extent2{1, 1} ? src : list_.add(node, {up}, src);
  }

  Value layer_norm(const NodeReader& node) {
    const Value src = value(node, 0);
    std::int64_t axis = node.integer("axis", -1);
    if (axis >= 0) axis -= std::ssize(src.shape.dims()) + 1;
    if (axis > -1 || axis < -std::ssize(src.shape.dims())) node.refuse("there is no axis {}", axis);
    ReadLayer read{ops::LayerNorm{.dims = -axis,
                                  .epsilon = decimal(node.real("epsilon", 1e-5F)),
                                  .affine = node.has_input(1)}};
    if (node.has_input(1)) {
      const tensor::Tensor& weight = node.floats(1, static_cast<std::size_t>(-axis));
      read.parameters = {weight, node.has_input(2) ? node.floats(2, weight.shape().rank())
                                                   : tensor::Tensor(weight.shape())};
      read.stored = stored_tensors(graph_, node);
    }
    return list_.add(node, std::move(read), src);
  }

  static bool is_input(const Value& value) {
    return value.layer == graph::kBlockInput && value.form == Form::whole;
  }

  /// Rows of a stored matrix, chosen by the graph's input; none where it is something else.
  std::optional<Value> embedding(const NodeReader& node) {
    const tensor::Tensor* table = node.constant(0);
    const bool rows = table != nullptr && table->desc().dtype == tensor::DType::f32 &&
                      table->shape().rank() == 2 && node.integer("axis", 0) == 0;
    if (!rows || !is_computed(node, 1) || !is_ids(value(node, 1))) return {};
    const tensor::Shape& shape = table->shape();
    ReadLayer read{ops::Embedding{.vocabulary = shape[0], .width = shape[1]}, {*table}};
    read.stored = {stored_tensor(graph_, node, 0)};
    return list_.add(node, std::move(read), value(node, 1));
  }

  Value slice(const NodeReader& node) {
    const Value src = value(node, 0);
    const SliceNumbers numbers{.starts = sizes_.integers(node, "starts", 1),
                               .ends = sizes_.integers(node, "ends", 2),
                               .axes = sizes_.integers(node, "axes", 3),
                               .steps = sizes_.integers(node, "steps", 4)};
    return list_.sliced(node, src, sliced_channels(node, src.shape, numbers));
  }

  void split(const NodeReader& node) {
    const Value src = value(node, 0);
    const std::vector<std::string>& outputs = node.node().outputs;
    const std::vector<ChannelRange> ranges =
        split_ranges(node, src.shape, sizes_.integers(node, "split", 1));
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      values_[outputs[i]] = list_.sliced(node, src, ranges[i]);
    }
  }

  PlainGraph graph_;
  const std::string& source_;
  LayerList list_;
  Unsupported unsupported_;
  std::map<std::string, Value> values_;
  SizeTable sizes_{graph_.constants};
  std::map<std::string, std::string> unread_;  ///< further outputs, and whose they are
  std::set<std::string> unknown_;              ///< what unsupported nodes write
  std::vector<std::string> notes_;
  bool has_ids_ = false;  ///< the input of the graph
};

}  // namespace

ImportedNetwork layers_of(const onnx_graph::Graph& graph, const std::string& source,
                          const tensor::Shape& usual_input) {
  PlainGraph plain = plain_graph(graph, source);
  join_patterns(plain);
  onnx_graph::GraphValue input = graph.inputs[0];
  const bool open = std::ranges::any_of(input.dims, [&](const std::int64_t& extent) {
    return extent < 1 && &extent != input.dims.data();
  });
  if (open && usual_input.rank() + 1 == input.dims.size()) {
    std::ranges::copy(usual_input.dims(), input.dims.begin() + 1);
  }
  return Importer(std::move(plain), source, input).run();
}

}  // namespace plait::onnx
