#include "strategy/parareal/coarse.hpp"

#include <algorithm>
#include <optional>

#include "base/error.hpp"
#include "base/nearest.hpp"

namespace plait {

namespace {

constexpr std::int64_t kNarrowest = 8;  // inner channels or features of a block
// Nothing normalises what the coarse part of a flat tensor makes of a residual, which may be large
// at first: its way around begins small and its inner way at 0, or training leaves the rails at
// usual rates.
constexpr double kShortcutScale = 0.1;

/// The stride with which a 3x3 window padded by 1, or a 1x1 window, makes `to` of `from`.
std::optional<std::int64_t> stride_for(std::int64_t from, std::int64_t to) {
  if (to < 1 || to > from) return std::nullopt;
  const std::int64_t natural = (from + to - 1) / to;
  if ((from - 1) / natural + 1 == to) return natural;
  const std::int64_t widest = (from - 1) / (to - 1);
  if ((from - 1) / widest + 1 == to) return widest;
  return std::nullopt;
}

/// How an image of height x width becomes one of another size: first averaged, then strided.
struct Shrinking {
  Extent2 average{1, 1};
  Extent2 stride{1, 1};
};

struct ShrinkingSide {
  std::int64_t average = 1;
  std::int64_t stride = 1;
};

std::optional<ShrinkingSide> shrink(std::int64_t from, std::int64_t to) {
  const auto whole = stride_for(from, to);
  if (!whole || *whole <= 2) return whole ? std::optional(ShrinkingSide{1, *whole}) : std::nullopt;
  // A wide stride would leave pixels out: most of it is averaged.
  for (const std::int64_t rest : {2, 1}) {
    for (std::int64_t average = from / to; average > 1; --average) {
      if (from % average == 0 && stride_for(from / average, to) == rest) {
        return ShrinkingSide{average, rest};
      }
    }
  }
  return ShrinkingSide{1, *whole};
}

std::optional<Shrinking> shrink(const Shape& src, const Shape& dst) {
  if (src.rank() != 3 || dst.rank() != 3) return std::nullopt;
  const auto height = shrink(src[1], dst[1]);
  const auto width = shrink(src[2], dst[2]);
  if (!height || !width) return std::nullopt;
  return Shrinking{{height->average, width->average}, {height->stride, width->stride}};
}

/// Index of the node that feeds what follows.
int append_average(BlockSpec& block, const Shrinking& by) {
  if (by.average == Extent2{1, 1}) return kBlockInput;
  return block.then(
      "pool", PoolSpec{.kind = PoolKind::average, .kernel = by.average, .stride = by.average});
}

ConvolutionSpec window(std::int64_t channels, std::int64_t kernel, Extent2 stride) {
  return {.out_channels = channels,
          .kernel = {kernel, kernel},
          .stride = stride,
          .padding = {kernel / 2, kernel / 2},
          .bias = false};
}

/// A convolution and a BatchNorm behind it that maps 0 to 0, however large the residuals are.
struct Normalised {
  std::string name;
  ConvolutionSpec conv;
};
int append(BlockSpec& block, const Normalised& one, int from) {
  block.join(one.name, one.conv, {from});
  return block.then(one.name + ".bn", BatchNormSpec{.centered = false});
}

LayerSpec relu() { return ActivationSpec{ActivationKind::relu}; }

BlockSpec image_block(const std::string& name, CoarseKind kind, const Shape& src,
                      const Shape& dst) {
  BlockSpec block{.name = name, .nodes = {}};
  const auto by = shrink(src, dst);
  if (!by) return block;
  const int from = append_average(block, *by);
  if (kind == CoarseKind::conv) {
    append(block, {"conv", window(dst[0], 3, by->stride)}, from);
    return block;
  }
  const std::int64_t inner = std::max(kNarrowest, dst[0] / 4);
  append(block, {"conv1", window(inner, 1, {1, 1})}, from);
  const int narrow = block.then("relu1", relu());
  append(block, {"conv2", window(inner, 3, by->stride)}, narrow);
  const int wide = block.then("relu2", relu());
  const int branch = append(block, {"conv3", window(dst[0], 1, {1, 1})}, wide);
  int skip = from;
  if (src[0] != dst[0] || by->stride != Extent2{1, 1}) {
    skip = append(block, {"shortcut", window(dst[0], 1, by->stride)}, from);
  }
  block.join("add", AddSpec{}, {branch, skip});
  return block;
}

LinearSpec linear(std::int64_t features, double scale) {
  return {.out_features = features, .bias = false, .initial_scale = scale};
}

BlockSpec flat_block(const std::string& name, CoarseKind kind, const Shape& src, const Shape& dst) {
  BlockSpec block{.name = name, .nodes = {}};
  const int from = src.rank() == 1 ? kBlockInput : block.then("flatten", FlattenSpec{});
  if (kind == CoarseKind::conv) {
    block.join("linear", linear(dst[0], kShortcutScale), {from});
    return block;
  }
  block.join("linear1", linear(std::max(kNarrowest, dst[0] / 4), 1), {from});
  block.then("relu", relu());
  const int branch = block.then("linear2", linear(dst[0], 0));
  int skip = from;
  if (src != dst) skip = block.join("shortcut", linear(dst[0], kShortcutScale), {from});
  block.join("add", AddSpec{}, {branch, skip});
  return block;
}

}  // namespace

std::string_view name_of(CoarseKind kind) {
  switch (kind) {
    case CoarseKind::block: return "block";
    case CoarseKind::conv: return "conv";
    case CoarseKind::identity: return "identity";
  }
  return "unknown";
}

CoarseKind coarse_kind(const std::string& text) {
  for (const CoarseKind kind : {CoarseKind::block, CoarseKind::conv, CoarseKind::identity}) {
    if (text == name_of(kind)) return kind;
  }
  user_error("--coarse {} is not known{}; there are: block, conv, identity", text,
             did_you_mean(text, {"block", "conv", "identity"}));
}

BlockSpec enter_block(const std::string& name, const Shape& image, const Shape& dst,
                      bool rectified) {
  BlockSpec block{.name = name, .nodes = {}};
  if (dst.rank() == 1) {
    if (image.rank() != 1) block.then("flatten", FlattenSpec{});
    block.then("linear", LinearSpec{.out_features = dst[0]});
  } else if (const auto by = shrink(image, dst)) {
    append_average(block, *by);
    block.then("conv", window(dst[0], 3, by->stride));
    block.then("bn", BatchNormSpec{});
  }
  if (rectified && !block.nodes.empty()) block.then("relu", relu());
  return block;
}

BlockSpec coarse_block(const std::string& name, CoarseKind kind, const Shape& src,
                       const Shape& dst) {
  if (kind == CoarseKind::identity) return {.name = name, .nodes = {}};
  return dst.rank() == 1 ? flat_block(name, kind, src, dst) : image_block(name, kind, src, dst);
}

bool coarse_fits(CoarseKind kind, const Shape& src, const Shape& dst) {
  if (kind == CoarseKind::identity) return src == dst;
  return !coarse_block("", kind, src, dst).nodes.empty();
}

}  // namespace plait
