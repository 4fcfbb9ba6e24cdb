// Operators that choose, reorder or resize by numbers that must fit the shape of their input:
// Slice, Split, Reshape, Transpose, Resize, LayerNormalization.
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "onnx/importer.hpp"

namespace plait::onnx {

namespace {

using Numbers = std::vector<std::int64_t>;

/// Of an input from opset 10 or 13 on, before that of an attribute.
std::optional<Numbers> listed(const NodeReader& node, std::size_t input, const char* attribute) {
  if (node.has_input(input)) return node.whole_numbers(input);
  if (!node.has_attribute(attribute)) return std::nullopt;
  return node.integers(attribute, {});
}

std::int64_t clamped(std::int64_t at, std::int64_t size) {
  if (at < 0) at = at < -size ? 0 : at + size;
  return std::min(at, size);
}

/// n of a shape may be the batch (any number), or 0 or -1 for it.
bool is_shape(const Numbers& numbers, const Numbers& sample) {
  if (numbers.size() != sample.size() + 1) return false;
  int guessed = 0;
  for (std::size_t i = 0; i < sample.size(); ++i) {
    guessed += numbers[i + 1] == -1 ? 1 : 0;
    if (numbers[i + 1] != -1 && numbers[i + 1] != sample[i]) return false;
  }
  return guessed <= 1;
}

}  // namespace

void Importer::expect_channels(const NodeReader& node, std::int64_t axis, int layer) const {
  const auto rank = static_cast<std::int64_t>(known_shape(node, layer).rank()) + 1;
  if (axis != 1 && axis != 1 - rank)
    node.refuse("only channels (axis 1) can be cut, not axis {}", axis);
}

GraphPart Importer::slice_of(const NodeReader& node, int layer, std::int64_t begin,
                             std::int64_t end) {
  const std::int64_t channels = known_shape(node, layer)[0];
  if (begin < 0 || end > channels || begin >= end) {
    node.refuse("channels {} .. {} are not within the {} of its input", begin, end, channels);
  }
  if (end - begin == channels) return {.layer = layer};
  return add(node, ops::Slice{.start = begin, .length = end - begin}, {layer});
}

GraphPart Importer::slice(const NodeReader& node) {
  const int src = whole(node, 0);
  const auto starts = listed(node, 1, "starts");
  const auto ends = listed(node, 2, "ends");
  const auto axes = listed(node, 3, "axes");
  const bool steps = node.has_input(4) && node.whole_numbers(4) != Numbers{1};
  if (!starts || !ends || !axes || starts->size() != 1 || ends->size() != 1 || axes->size() != 1 ||
      steps) {
    node.refuse("only a range of channels with stored numbers is supported");
  }
  expect_channels(node, (*axes)[0], src);
  const std::int64_t channels = known_shape(node, src)[0];
  return slice_of(node, src, clamped((*starts)[0], channels), clamped((*ends)[0], channels));
}

/// A slice for every output that is read.
GraphPart Importer::split(const NodeReader& node) {
  node.output();  // there is one
  const int src = whole(node, 0);
  expect_channels(node, node.integer("axis", 0), src);
  const std::int64_t channels = known_shape(node, src)[0];
  const auto parts = static_cast<std::int64_t>(node.outputs().size());
  std::optional<Numbers> sizes = listed(node, 1, "split");
  if (!sizes && !node.has_input(1)) {  // equal, but for a smaller last one
    const std::int64_t each = (channels + parts - 1) / std::max<std::int64_t>(1, parts);
    sizes = Numbers(static_cast<std::size_t>(parts), each);
    sizes->back() = channels - each * (parts - 1);
  }
  if (!sizes || sizes->size() != node.outputs().size()) {
    node.refuse("needs a stored size for each of its {} outputs", parts);
  }
  std::int64_t begin = 0;
  GraphPart first;
  for (std::size_t i = 0; i < sizes->size(); ++i) {
    const std::int64_t size = (*sizes)[i];
    if (size < 1 || size > channels - begin) {
      node.refuse("sizes [{}] do not fit {} channels", fmt::join(*sizes, ", "), channels);
    }
    const std::string& name = node.outputs()[i];
    if (!name.empty() && readers_.contains(name)) {
      const GraphPart part = slice_of(node, src, begin, begin + size);
      if (i == 0) first = part;
      if (i > 0) put(node, name, part);
    }
    begin += size;
  }
  return first;
}

/// To features, or the first and last steps of channel_shuffle.
GraphPart Importer::reshape(const NodeReader& node) {
  const GraphPart src = value(node, 0);
  const auto numbers = node.whole_numbers(1);
  const tensor::Shape* shape = shape_of(src.layer);
  const bool image = shape != nullptr && shape->rank() == 3 && numbers.has_value();
  if (image && src.part == Part::whole && numbers->size() == 5) {
    const std::int64_t groups = (*numbers)[1];
    const std::int64_t channels = (*shape)[0];
    if (groups >= 1 && channels % groups == 0 &&
        is_shape(*numbers, {groups, channels / groups, (*shape)[1], (*shape)[2]})) {
      return {.layer = whole(node, 0), .part = Part::grouped, .groups = groups};
    }
  }
  if (image && src.part == Part::swapped &&
      is_shape(*numbers, {(*shape)[0], (*shape)[1], (*shape)[2]})) {
    return add(node, ops::ChannelShuffle{.groups = src.groups}, {src.layer});
  }
  const ReadLayer flatten = *read_layer(node);
  if (is_whole(src) && shape != nullptr && shape->rank() == 1) return src;  // it is flat
  return add(node, flatten);
}

GraphPart Importer::transpose(const NodeReader& node) {
  const GraphPart src = value(node, 0);
  const bool swaps = node.integers("perm", {}) == Numbers{0, 2, 1, 3, 4};
  if (src.part != Part::grouped || !swaps) {
    node.refuse("only the Transpose of a channel shuffle is supported");
  }
  return {.layer = src.layer, .part = Part::swapped, .groups = src.groups};
}

/// By whole factors, from stored scales or sizes.
GraphPart Importer::resize(const NodeReader& node) {
  const int src = whole(node, 0);
  const std::string mode = node.text("mode", "nearest");
  const std::string place = node.text("coordinate_transformation_mode", "half_pixel");
  const std::string nearest = node.text("nearest_mode", "round_prefer_floor");
  const bool halves = place == "half_pixel" || place == "pytorch_half_pixel";
  const bool repeats = mode == "nearest" && ((place == "asymmetric" && nearest == "floor") ||
                                             (halves && nearest.starts_with("round")));
  if (!repeats && !(mode == "linear" && halves)) {
    node.refuse("mode '{}' with '{}' and '{}' is no upsampling of plait", mode, place, nearest);
  }
  ops::Upsample up{.kind = repeats ? ops::UpsampleKind::nearest : ops::UpsampleKind::bilinear};
  Numbers factors;
  const tensor::Tensor* scales = node.constant(2);
  if (scales != nullptr && scales->desc().dtype == tensor::DType::f32 &&
      scales->shape() == tensor::Shape{4}) {
    for (const float scale : scales->floats()) {
      const bool counts = scale >= 1 && scale <= static_cast<float>(ops::kMaxWindow);
      factors.push_back(counts && scale == std::floor(scale) ? static_cast<std::int64_t>(scale)
                                                             : 0);
    }
  } else if (const auto sizes = node.whole_numbers(3); sizes && sizes->size() == 4) {
    const tensor::Shape& shape = known_shape(node, src);
    if (shape.rank() == 3 && (*sizes)[1] == shape[0]) {
      factors = {1, 1};
      for (const std::size_t axis : {2, 3}) {
        const std::int64_t from = shape[axis - 1];
        factors.push_back((*sizes)[axis] % from == 0 ? (*sizes)[axis] / from : 0);
      }
    }
  }
  const bool whole_factors = factors.size() == 4 && factors[0] == 1 && factors[1] == 1 &&
                             std::ranges::all_of(factors, [](std::int64_t factor) {
                               return factor >= 1 && factor <= ops::kMaxWindow;
                             });
  if (!whole_factors) node.refuse("only images enlarged by stored whole factors are supported");
  up.scale = {factors[2], factors[3]};
  if (up.scale == ops::Extent2{1, 1}) return {.layer = src};
  return add(node, up, {src});
}

GraphPart Importer::layer_norm(const NodeReader& node) {
  const int src = whole(node, 0);
  std::int64_t axis = node.integer("axis", -1);
  if (axis >= 0) axis -= static_cast<std::int64_t>(known_shape(node, src).rank()) + 1;
  if (axis > -1 || axis < -8) node.refuse("axis {} is none of its input", axis);
  const auto dims = static_cast<std::size_t>(-axis);
  std::vector<tensor::Tensor> parameters{node.floats(1, dims)};
  parameters.push_back(node.has_input(2) ? node.floats(2, dims)
                                         : tensor::Tensor(parameters[0].shape()));
  const ops::LayerNorm norm{.dims = -axis, .epsilon = decimal(node.real("epsilon", 1e-5F))};
  return add(node, norm, {src}, std::move(parameters));
}

}  // namespace plait::onnx
