// Operators of opset 13, and of 17 where a layer needs one of those.
#include "onnx/write_layer.hpp"

#include <algorithm>
#include <numbers>

#include "base/error.hpp"
#include "onnx/turned.hpp"
#include "ops/table.hpp"

namespace plait::onnx {

namespace {

using namespace onnx_graph;

std::vector<std::int64_t> pair_of(ops::Extent2 extent) { return {extent.height, extent.width}; }
/// The begins of both axes, then their ends.
std::vector<std::int64_t> pads_of(ops::Extent2 padding) {
  return {padding.height, padding.width, padding.height, padding.width};
}

AttributeValue attribute_of(const ops::Field& field, const ops::FieldValue& value) {
  if (const auto* extent = std::get_if<ops::Extent2>(&value)) {
    return field.onnx == "pads" ? pads_of(*extent) : pair_of(*extent);
  }
  if (const auto* number = std::get_if<double>(&value)) return static_cast<float>(*number);
  if (const auto* flag = std::get_if<bool>(&value)) return std::int64_t{*flag ? 1 : 0};
  return std::get<std::int64_t>(value);
}

tensor::Tensor filled_with(const tensor::Shape& shape, float value) {
  tensor::Tensor tensor(shape);
  std::ranges::fill(tensor.floats(), value);
  return tensor;
}

struct LayerWriter {
  GraphWriter& out;

  const std::string& x() const { return out.place().srcs[0]; }
  const tensor::Shape& shape() const { return out.place().shape(); }
  [[noreturn]] void refuse(std::string_view what) const {
    user_error("'{}' is {}, which ONNX does not have; use .safetensors", out.place().name, what);
  }

  /// By the table of operations.
  template <class Op>
  std::string operator()(const Op& operation) const {
    const ops::OperationInfo& info = ops::info_of(operation);
    if (info.onnx.empty()) refuse(fmt::format("a {}", info.name));
    std::vector<Attribute> attributes;
    for (const ops::Field& field : info.fields) {
      if (field.onnx.empty()) continue;
      attributes.push_back({std::string(field.onnx), attribute_of(field, field.get(operation))});
    }
    for (const ops::OnnxConstant& one : info.onnx_constants) {
      attributes.push_back({std::string(one.name), one.value});
    }
    return out.emit(std::string(info.onnx), std::move(attributes));
  }
  std::string operator()(const ops::Convolution1d& conv) const {
    return out.emit("Conv", {{"kernel_shape", std::vector{conv.kernel}},
                             {"strides", std::vector{conv.stride}},
                             {"pads", std::vector{conv.padding, conv.padding}},
                             {"dilations", std::vector{conv.dilation}},
                             {"group", conv.groups}});
  }
  /// Gemm takes flat features only.
  std::string operator()(const ops::Linear& linear) const {
    if (!multiplies_rows(linear, shape())) return operator()<ops::Linear>(linear);
    const std::string part = linear.bias ? "product" : "";
    const std::string product = out.step("MatMul", part, {x(), out.parameters()[0]});
    return linear.bias ? out.step("Add", "", {product, out.parameters()[1]}) : product;
  }
  std::string operator()(const ops::Embedding&) const {
    return out.step("Gather", "", {out.parameters()[0], x()}, {{"axis", std::int64_t{0}}});
  }
  std::string operator()(const ops::BatchNorm& bn) const {
    if (!bn.centered) refuse("a batch_norm with centered = false");
    // ONNX's momentum is of the old value.
    return out.emit("BatchNormalization", {{"epsilon", static_cast<float>(bn.epsilon)},
                                           {"momentum", static_cast<float>(1 - bn.momentum)}});
  }
  std::string operator()(const ops::LayerNorm& norm) const {
    out.need_opset(17);
    std::vector<std::string> inputs{x()};
    if (norm.affine) {
      inputs.insert(inputs.end(), out.parameters().begin(), out.parameters().end());
    } else {
      const auto last = shape().dims().last(static_cast<std::size_t>(norm.dims));
      const tensor::Shape normalised(std::vector<std::int64_t>(last.begin(), last.end()));
      inputs.push_back(out.floats("ones", filled_with(normalised, 1)));
    }
    return out.step("LayerNormalization", "", std::move(inputs),
                    {{"axis", -norm.dims}, {"epsilon", static_cast<float>(norm.epsilon)}});
  }
  std::string operator()(const ops::Activation& activation) const {
    const std::vector<Attribute> sixth{{"alpha", 1.0F / 6}, {"beta", 0.5F}};
    switch (activation.kind) {
      case ops::ActivationKind::gelu: return gelu();
      case ops::ActivationKind::silu:
        return out.step("Mul", "", {x(), out.step("Sigmoid", "sigmoid", {x()})});
      case ops::ActivationKind::hard_sigmoid: return out.emit("HardSigmoid", sixth);
      case ops::ActivationKind::hard_swish:  // ONNX has it from opset 14 on
        return out.step("Mul", "", {x(), out.step("HardSigmoid", "gate", {x()}, sixth)});
      case ops::ActivationKind::clip:
        return out.step("Clip", "",
                        {x(), out.scalar(0), out.scalar(static_cast<float>(activation.ceiling))});
      default: return operator()<ops::Activation>(activation);
    }
  }
  /// ceil_mode only where it gives a further window: ONNX also has one that begins in the zeros at
  /// the end, which PyTorch and plait leave out. Where one axis has that and the other has not,
  /// each axis is pooled on its own.
  std::string operator()(const ops::Pool& pool) const {
    const tensor::Shape ceiled = result_of(pool, pool.ceil_mode);
    const tensor::Shape floored = result_of(pool, false);
    const auto reaches = [&](std::size_t axis) { return ceiled[axis] != floored[axis]; };
    if (reaches(1) == reaches(2) || exact(pool, reaches(1) ? 2 : 1)) {
      return pooled(pool, x(), reaches(1) || reaches(2), "");
    }
    ops::Pool rows = pool;
    rows.kernel.width = rows.stride.width = 1;
    rows.padding.width = 0;
    ops::Pool columns = pool;
    columns.kernel.height = columns.stride.height = 1;
    columns.padding.height = 0;
    return pooled(columns, pooled(rows, x(), reaches(1), "rows"), reaches(2), "");
  }
  /// Windows of one size, where they are.
  std::string operator()(const ops::AdaptiveAveragePool& pool) const {
    if (pool.output == ops::Extent2{1, 1}) return out.emit("GlobalAveragePool");
    const std::optional<ops::Pool> same = pool.even_windows(shape());
    if (!same) {
      refuse(fmt::format("an adaptive_average_pool of {} with windows of several sizes", shape()));
    }
    return operator()(*same);
  }
  std::string operator()(const ops::Upsample& up) const {
    const bool nearest = up.kind == ops::UpsampleKind::nearest;
    tensor::Tensor scales = filled_with(tensor::Shape{4}, 1);
    scales.floats()[2] = static_cast<float>(up.scale.height);
    scales.floats()[3] = static_cast<float>(up.scale.width);
    std::vector<Attribute> attributes{
        {"mode", std::string(nearest ? "nearest" : "linear")},
        {"coordinate_transformation_mode", std::string(nearest ? "asymmetric" : "half_pixel")}};
    if (nearest) attributes.push_back({"nearest_mode", std::string("floor")});
    return out.step("Resize", "", {x(), "", out.floats("scales", scales)}, std::move(attributes));
  }
  std::string operator()(const ops::Slice& slice) const {
    return out.step("Slice", "",
                    {x(), out.integers("starts", {slice.start}),
                     out.integers("ends", {slice.start + slice.length}),
                     out.integers("axes", {slice.axis + 1})});
  }
  /// 0: the batch, as it is.
  std::string operator()(const ops::ChannelShuffle& shuffle) const {
    const std::int64_t each = shape()[0] / shuffle.groups;
    const std::string grouped =
        out.step("Reshape", "grouped",
                 {x(), out.integers("groups", {0, shuffle.groups, each, shape()[1], shape()[2]})});
    const std::string swapped = out.step("Transpose", "swapped", {grouped},
                                         {{"perm", std::vector<std::int64_t>{0, 2, 1, 3, 4}}});
    return out.step("Reshape", "",
                    {swapped, out.integers("channels", {0, shape()[0], shape()[1], shape()[2]})});
  }
  /// ONNX lines up the last axes: a factor for each channel needs axes for height and width.
  std::string operator()(const ops::Multiply&) const {
    std::vector<std::string> srcs = out.place().srcs;
    const std::vector<tensor::Shape>& shapes = out.place().shapes;
    if (shapes[1].rank() < shapes[0].rank()) {
      srcs[1] = out.step("Reshape", "factors",
                         {srcs[1], out.integers("channels", {0, shapes[1][0], 1, 1})});
    }
    return out.step("Mul", "", std::move(srcs));
  }
  std::string operator()(const ops::Dropout&) const { return x(); }

 private:
  tensor::Shape result_of(ops::Pool pool, bool ceil_mode) const {
    pool.ceil_mode = ceil_mode;
    return pool.result({&shape(), 1}, out.place().name);
  }
  /// Whether the windows end where the zeros along this axis do.
  bool exact(const ops::Pool& pool, std::size_t axis) const {
    const bool rows = axis == 1;
    const std::int64_t padding = rows ? pool.padding.height : pool.padding.width;
    const std::int64_t kernel = rows ? pool.kernel.height : pool.kernel.width;
    const std::int64_t stride = rows ? pool.stride.height : pool.stride.width;
    return (shape()[axis] + 2 * padding - kernel) % stride == 0;
  }
  std::string pooled(const ops::Pool& pool, const std::string& src, bool ceil_mode,
                     const std::string& part) const {
    std::vector<Attribute> attributes{{"kernel_shape", pair_of(pool.kernel)},
                                      {"strides", pair_of(pool.stride)},
                                      {"pads", pads_of(pool.padding)}};
    if (ceil_mode) attributes.push_back({"ceil_mode", std::int64_t{1}});
    if (pool.kind == ops::PoolKind::max) {
      return out.step("MaxPool", part, {src}, std::move(attributes));
    }
    // Without padding nothing is counted; 0 keeps others from counting what ceil_mode reaches.
    const bool counts =
        pool.count_include_pad && !(ceil_mode && pool.padding == ops::Extent2{0, 0});
    attributes.push_back({"count_include_pad", std::int64_t{counts ? 1 : 0}});
    return out.step("AveragePool", part, {src}, std::move(attributes));
  }
  /// x (1 + erf(x / sqrt 2)) / 2, as PyTorch spells it.
  std::string gelu() const {
    const std::string scaled =
        out.step("Div", "scaled", {x(), out.scalar(std::numbers::sqrt2_v<float>)});
    const std::string erf = out.step("Erf", "erf", {scaled});
    const std::string raised = out.step("Add", "raised", {erf, out.scalar(1)});
    const std::string product = out.step("Mul", "product", {x(), raised});
    return out.step("Mul", "", {product, out.scalar(0.5F)});
  }
};

}  // namespace

std::string write_layer(const ops::Operation& layer, GraphWriter& writer) {
  return std::visit(LayerWriter{writer}, layer);
}

}  // namespace plait::onnx
