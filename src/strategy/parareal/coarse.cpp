// The layers of the entry and coarse blocks for images and for flat tensors: resizing, bottlenecks,
// normalisation.
#include "strategy/parareal/coarse.hpp"

#include <algorithm>
#include <optional>
#include <stdexcept>

namespace plait::strategy {

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

/// How a side of an image becomes one of another size: averaged, then strided or grown.
struct Side {
  std::int64_t kernel = 1;  ///< of the average
  std::int64_t step = 1;    ///< of the average
  std::int64_t stride = 1;
  std::int64_t growth = 0;
};

Side resize(std::int64_t from, std::int64_t to) {
  if (to > from) return {.growth = to - from};
  const auto whole = stride_for(from, to);
  if (!whole) {  // the widest step that leaves no pixel out, in windows that overlap
    const std::int64_t step = from / to;
    return {.kernel = from - (to - 1) * step, .step = step};
  }
  if (*whole <= 2) return {.stride = *whole};
  // A wide stride would leave pixels out: most of it is averaged.
  for (const std::int64_t rest : {2, 1}) {
    for (std::int64_t average = from / to; average > 1; --average) {
      if (from % average == 0 && stride_for(from / average, to) == rest) {
        return {.kernel = average, .step = average, .stride = rest};
      }
    }
  }
  return {.stride = *whole};
}

struct Resizing {
  Side height;
  Side width;

  ops::Extent2 stride() const { return {height.stride, width.stride}; }
  ops::Extent2 growth() const { return {height.growth, width.growth}; }
  bool averages() const { return height.kernel > 1 || width.kernel > 1; }
  bool keeps() const { return stride() == ops::Extent2{1, 1} && growth() == ops::Extent2{0, 0}; }
};

/// Nothing where an image would have to come out of a flat tensor, or to grow too much: the
/// networks of this program grow by padding only.
std::optional<Resizing> resize(const tensor::Shape& src, const tensor::Shape& dst) {
  constexpr std::int64_t kMostGrowth = 16;
  if (src.rank() != 3 || dst.rank() != 3) return std::nullopt;
  const Resizing by{resize(src[1], dst[1]), resize(src[2], dst[2])};
  if (std::max(by.height.growth, by.width.growth) > kMostGrowth) return std::nullopt;
  return by;
}

/// Index of the node that feeds what follows.
int append_average(graph::BlockSpec& block, const Resizing& by) {
  if (!by.averages()) return graph::kBlockInput;
  return block.then("pool", ops::Pool{.kind = ops::PoolKind::average,
                                      .kernel = {by.height.kernel, by.width.kernel},
                                      .stride = {by.height.step, by.width.step}});
}

/// Keeps the size.
ops::Convolution window(std::int64_t channels, std::int64_t kernel) {
  return {.out_channels = channels,
          .kernel = {kernel, kernel},
          .padding = {kernel / 2, kernel / 2},
          .bias = false};
}

/// The same, resized: with g pixels more of a kernel and of padding on all sides, the image has g
/// more.
ops::Convolution window(std::int64_t channels, std::int64_t kernel, const Resizing& by) {
  ops::Convolution conv = window(channels, kernel);
  const ops::Extent2 growth = by.growth();
  conv.stride = by.stride();
  conv.kernel = {kernel + growth.height, kernel + growth.width};
  conv.padding = {kernel / 2 + growth.height, kernel / 2 + growth.width};
  return conv;
}

/// A convolution and a BatchNorm behind it that maps 0 to 0, however large the residuals are.
struct Normalised {
  std::string name;
  ops::Convolution conv;
};
int append(graph::BlockSpec& block, const Normalised& one, int from) {
  block.join(one.name, one.conv, {from});
  return block.then(one.name + ".bn", ops::BatchNorm{.centered = false});
}

ops::Operation relu() { return ops::Activation{ops::ActivationKind::relu}; }

graph::BlockSpec image_block(const std::string& name, CoarseKind kind, const tensor::Shape& src,
                             const tensor::Shape& dst) {
  graph::BlockSpec block{.name = name, .nodes = {}};
  const auto by = resize(src, dst);
  if (!by) return block;
  const int from = append_average(block, *by);
  if (kind == CoarseKind::conv) {
    append(block, {"conv", window(dst[0], 3, *by)}, from);
    return block;
  }
  const std::int64_t inner = std::max(kNarrowest, dst[0] / 4);
  append(block, {"conv1", window(inner, 1)}, from);
  const int narrow = block.then("relu1", relu());
  append(block, {"conv2", window(inner, 3, *by)}, narrow);
  const int wide = block.then("relu2", relu());
  const int branch = append(block, {"conv3", window(dst[0], 1)}, wide);
  int skip = from;
  if (src[0] != dst[0] || !by->keeps()) {
    skip = append(block, {"shortcut", window(dst[0], 1, *by)}, from);
  }
  block.join("add", ops::Add{}, {branch, skip});
  return block;
}

ops::Linear linear(std::int64_t features, double scale) {
  return {.out_features = features, .bias = false, .initial_scale = scale};
}

graph::BlockSpec flat_block(const std::string& name, CoarseKind kind, const tensor::Shape& src,
                            const tensor::Shape& dst) {
  graph::BlockSpec block{.name = name, .nodes = {}};
  const int from = src.rank() == 1 ? graph::kBlockInput : block.then("flatten", ops::Flatten{});
  if (kind == CoarseKind::conv) {
    block.join("linear", linear(dst[0], kShortcutScale), {from});
    return block;
  }
  block.join("linear1", linear(std::max(kNarrowest, dst[0] / 4), 1), {from});
  block.then("relu", relu());
  const int branch = block.then("linear2", linear(dst[0], 0));
  int skip = from;
  if (src != dst) skip = block.join("shortcut", linear(dst[0], kShortcutScale), {from});
  block.join("add", ops::Add{}, {branch, skip});
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
  throw std::logic_error("unchecked setting: coarse " + text);
}

graph::BlockSpec enter_block(const std::string& name, const tensor::Shape& image,
                             const tensor::Shape& dst, bool rectified) {
  graph::BlockSpec block{.name = name, .nodes = {}};
  if (dst.rank() == 1) {
    if (image.rank() != 1) block.then("flatten", ops::Flatten{});
    block.then("linear", ops::Linear{.out_features = dst[0]});
  } else if (const auto by = resize(image, dst)) {
    append_average(block, *by);
    block.then("conv", window(dst[0], 3, *by));
    block.then("bn", ops::BatchNorm{});
  }
  if (rectified && !block.nodes.empty()) block.then("relu", relu());
  return block;
}

graph::BlockSpec coarse_block(const std::string& name, CoarseKind kind, const tensor::Shape& src,
                              const tensor::Shape& dst) {
  if (kind == CoarseKind::identity) return {.name = name, .nodes = {}};
  return dst.rank() == 1 ? flat_block(name, kind, src, dst) : image_block(name, kind, src, dst);
}

bool coarse_fits(CoarseKind kind, const tensor::Shape& src, const tensor::Shape& dst) {
  if (kind == CoarseKind::identity) return src == dst;
  return !coarse_block("", kind, src, dst).nodes.empty();
}

}  // namespace plait::strategy
