// Appends layers with every check of shapes, so that later readers can count on them.
#include "onnx/layer_list.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "graph/check.hpp"
#include "onnx/module_path.hpp"

namespace plait::onnx {

namespace {

bool has_absurd_size(const tensor::Shape& shape) {
  std::int64_t product = 1;
  for (const std::int64_t extent : shape.dims()) {
    if (extent < 1 || extent > graph::kMaxElements / product) return true;
    product *= extent;
  }
  return false;
}

/// ONNX lines up the last axes, so that one sample's factors would meet other samples.
[[noreturn]] void refuse_ranks(const NodeReader& node, const std::vector<Value>& srcs) {
  const bool first = srcs[0].shape.rank() > srcs[1].shape.rank();
  const tensor::Shape& large = srcs[first ? 0 : 1].shape;
  const tensor::Shape& small = srcs[first ? 1 : 0].shape;
  node.refuse(
      "multiplies samples of {} by {}, which ONNX lines up at the last axes; plait's multiply "
      "takes "
      "a factor for each channel, {}x1x1 (export again what an earlier plait wrote)",
      large, small, large[0]);
}

}  // namespace

LayerList::LayerList(const std::string& source, tensor::Shape input) : source_(source) {
  const bool said =
      input.rank() >= 1 && std::ranges::all_of(input.dims(), [](auto dim) { return dim > 0; });
  if (!said) {
    user_error(
        "{}: does not state the size of its input; save it with a fixed size (except for the "
        "batch)",
        source);
  }
  if (has_absurd_size(input)) user_error("{}: its input {} is too large", source, input);
  network_.input = input;
  shapes_.push_back(std::move(input));
}

int LayerList::whole(const NodeReader& node, const Value& src) const {
  if (src.form == Form::padded) node.refuse("zeros before this operator are not supported");
  if (src.form != Form::whole) {
    node.refuse("it reads {} with the shape {}, which plait's layer does not", shape(src.layer),
                src.shape);
  }
  return src.layer;
}

Value LayerList::append(const NodeReader& node, ReadLayer read, std::vector<int> inputs) {
  if (std::ssize(network_.layers) >= graph::kMaxLayers) {
    user_error("{}: has more than {} layers", source_, graph::kMaxLayers);
  }
  const std::string where = fmt::format("{}: node {}", source_, node.name());
  std::vector<tensor::Shape> srcs;
  for (const int input : inputs) srcs.push_back(shape(input));
  ops::check_numbers(read.layer, where);
  tensor::Shape result = ops::result_shape(read.layer, srcs, where);
  if (has_absurd_size(result)) user_error("{}: its result {} is too large", where, result);
  std::string path = module_path(node.node(), !read.parameters.empty());
  // Of a tensor that several layers read only the first has the name.
  if (!read.parameters.empty() && !path.empty() && !paths_.insert(path).second) {
    if (std::string own = module_path(node.node(), false); !own.empty()) path = std::move(own);
  }
  network_.layers.push_back({.node = node.name(),
                             .path = std::move(path),
                             .layer = std::move(read.layer),
                             .inputs = std::move(inputs),
                             .parameters = std::move(read.parameters),
                             .stored = std::move(read.stored)});
  shapes_.push_back(result);
  return {.layer = static_cast<int>(network_.layers.size()) - 1, .shape = std::move(result)};
}

Value LayerList::add(const NodeReader& node, ReadLayer read, const Value& src) {
  auto* pool = std::get_if<ops::Pool>(&read.layer);
  if (pool != nullptr && pool->kind != ops::PoolKind::average) pool = nullptr;
  auto* conv = std::get_if<ops::Convolution>(&read.layer);
  const bool takes_zeros =
      conv != nullptr || (pool != nullptr && pool->padding == ops::Extent2{0, 0});
  if (src.form == Form::padded && takes_zeros) {
    ops::Extent2& padding = conv != nullptr ? conv->padding : pool->padding;
    padding = {padding.height + src.padding.height, padding.width + src.padding.width};
    return append(node, std::move(read), {src.layer});
  }
  const int input = whole(node, src);
  const ops::Pool nothing{ops::PoolKind::average, {1, 1}, {1, 1}, {0, 0}};
  if (pool != nullptr && *pool == nothing)
    return src;  // PyTorch's adaptive pooling at its own size
  return append(node, std::move(read), {input});
}

Value LayerList::join(const NodeReader& node, const ops::Operation& layer,
                      std::vector<Value> srcs) {
  std::vector<int> inputs;
  const bool product = std::holds_alternative<ops::Multiply>(layer);
  const bool pair = product && srcs.size() == 2;  // append refuses other numbers
  if (pair && srcs[0].shape.rank() != srcs[1].shape.rank()) refuse_ranks(node, srcs);
  for (const Value& src : srcs) {
    // A factor for each channel may be flat features seen as Cx1x1.
    const bool factors = product && src.form == Form::viewed && shape(src.layer).rank() == 1 &&
                         src.shape == tensor::Shape{shape(src.layer)[0], 1, 1};
    inputs.push_back(factors ? src.layer : whole(node, src));
  }
  const auto size = [&](int input) {
    return std::pair(shape(input).elements(), shape(input).rank());
  };
  if (pair && size(inputs[0]) < size(inputs[1])) std::swap(inputs[0], inputs[1]);
  return append(node, {layer}, std::move(inputs));
}

Value LayerList::viewed(const NodeReader& node, const Value& src, const tensor::Shape& target) {
  if (target == src.shape) return src;
  if (src.form == Form::padded) node.refuse("zeros before this operator are not supported");
  const tensor::Shape& real = shape(src.layer);
  if (src.form == Form::shuffled) {
    if (target == real) {
      return append(node, {ops::ChannelShuffle{.groups = src.shape[1]}}, {src.layer});
    }
    node.refuse("of a transposed tensor only {} can be made", real);
  }
  if (target == real) return {.layer = src.layer, .shape = real};
  if (target.rank() == 1) return append(node, {ops::Flatten{}}, {src.layer});
  return {.layer = src.layer, .shape = target, .form = Form::viewed};
}

std::optional<Value> LayerList::transposed(const NodeReader& node, const Value& src) const {
  const std::vector<std::int64_t> order = node.integers("perm", {});
  if (order.size() == src.shape.rank() + 1 && keeps_order(order)) return src;
  const tensor::Shape& real = shape(src.layer);
  const bool groups = src.form == Form::viewed && real.rank() == 3 && src.shape.rank() == 4 &&
                      src.shape[2] == real[1] && src.shape[3] == real[2];
  if (!groups || order != std::vector<std::int64_t>{0, 2, 1, 3, 4}) return {};
  return Value{.layer = src.layer,
               .shape = {src.shape[1], src.shape[0], src.shape[2], src.shape[3]},
               .form = Form::shuffled};
}

Value LayerList::sliced(const NodeReader& node, const Value& src, ChannelRange range) {
  const int input = whole(node, src);
  if (range.length == src.shape[static_cast<std::size_t>(range.axis)]) return src;
  const ops::Slice slice{.start = range.start, .length = range.length, .axis = range.axis};
  return append(node, {slice}, {input});
}

ImportedNetwork LayerList::finish(int output) {
  std::vector<bool> needed(network_.layers.size(), false);
  if (output >= 0) needed[static_cast<std::size_t>(output)] = true;
  for (std::size_t i = needed.size(); i-- > 0;) {
    for (const int input : network_.layers[i].inputs) {
      if (needed[i] && input >= 0) needed[static_cast<std::size_t>(input)] = true;
    }
  }
  ImportedNetwork network{.layers = {}, .output = output, .input = network_.input};
  std::vector<int> numbers;
  for (std::size_t i = 0; i < needed.size(); ++i) {
    numbers.push_back(static_cast<int>(network.layers.size()));
    if (!needed[i]) continue;
    network.layers.push_back(std::move(network_.layers[i]));
    for (int& input : network.layers.back().inputs) {
      if (input >= 0) input = numbers[static_cast<std::size_t>(input)];
    }
  }
  if (output >= 0) network.output = numbers[static_cast<std::size_t>(output)];
  return network;
}

}  // namespace plait::onnx
