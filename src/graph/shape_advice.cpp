// Next steps for the usual mistakes with shapes.
#include "graph/shape_advice.hpp"

#include "base/error.hpp"

namespace plait::graph {

namespace {

/// Of a window that is larger than what it slides over.
constexpr std::string_view kSmaller =
    "; a larger padding helps, or smaller strides in the layers before";

template <class Layer>
bool is(const ops::Operation& layer) {
  return std::holds_alternative<Layer>(layer);
}

bool is_window(const ops::Operation& layer) {
  return is<ops::Convolution>(layer) || is<ops::Pool>(layer);
}

/// Two images that differ in their channels only.
bool differ_in_channels(const tensor::Shape& a, const tensor::Shape& b) {
  return a.rank() == 3 && b.rank() == 3 && a[0] != b[0] && a.without_front() == b.without_front();
}

}  // namespace

std::string shape_advice(const ops::Operation& layer, std::span<const tensor::Shape> srcs,
                         std::string_view refusal) {
  if (srcs.empty()) return {};
  const ops::Inputs wanted = ops::inputs_of(layer);
  if (srcs.size() < wanted.least) return "; name them in 'from', or in 'inputs' of the block";
  if (srcs.size() > wanted.most) {
    return wanted.most == 1 ? "; join them first, with concat or add"
                            : "; combine two of them first, in a layer before";
  }
  const bool too_small = refusal.find("does not fit its input") != std::string_view::npos;
  const tensor::Shape& src = srcs[0];
  if (is<ops::Convolution1d>(layer)) {
    if (src.rank() == 1) return "; put it before flatten";
    if (src.rank() == 3) {
      return "; write input = [C, L] in the model file for data N,C,L, or use convolution";
    }
    return too_small ? std::string(kSmaller) : std::string();
  }
  if (is_window(layer)) {
    if (src.rank() == 2 && is<ops::Convolution>(layer)) {
      return " (of a sequence CxL: use convolution_1d)";
    }
    return too_small ? std::string(kSmaller) : std::string();
  }
  const bool sum = is<ops::Add>(layer) || is<ops::Subtract>(layer);
  if (sum && srcs.size() == 2 && differ_in_channels(srcs[0], srcs[1])) {
    return fmt::format(
        "; a convolution with kernel = 1 and out = {} in front of the {} one helps (in a "
        "residual block: as its shortcut)",
        std::max(srcs[0][0], srcs[1][0]), srcs[0][0] < srcs[1][0] ? "first" : "second");
  }
  return {};
}

bool fits_swapped(const ops::Operation& layer, std::span<const tensor::Shape> srcs) {
  if (!is<ops::Multiply>(layer) || srcs.size() != 2) return false;
  const tensor::Shape swapped[] = {srcs[1], srcs[0]};
  try {
    ops::result_shape(layer, swapped, "");
    return true;
  } catch (const UserError&) {
    return false;
  }
}

}  // namespace plait::graph
