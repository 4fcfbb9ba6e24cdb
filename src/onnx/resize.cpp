// The few of Resize's many modes that are upsampling by whole factors.
#include "onnx/resize.hpp"

#include <cmath>

namespace plait::onnx {

namespace {

ops::UpsampleKind kind_of(const NodeReader& node) {
  const std::string mode = node.text("mode", "nearest");
  const std::string place = node.text("coordinate_transformation_mode", "half_pixel");
  const std::string nearest = node.text("nearest_mode", "round_prefer_floor");
  const bool halves = place == "half_pixel" || place == "pytorch_half_pixel";
  const bool repeats = mode == "nearest" && ((place == "asymmetric" && nearest == "floor") ||
                                             (halves && nearest.starts_with("round")));
  if (!repeats && !(mode == "linear" && halves)) {
    node.refuse("mode '{}' with '{}' and '{}' is no upsampling of plait", mode, place, nearest);
  }
  return repeats ? ops::UpsampleKind::nearest : ops::UpsampleKind::bilinear;
}

}  // namespace

ops::Upsample upsample_of(const NodeReader& node, const tensor::Shape& src,
                          const std::optional<Sizes>& sizes) {
  ops::Upsample up{.kind = kind_of(node)};
  std::vector<double> factors;
  const tensor::Tensor* scales = node.constant(2);
  const bool scaled = scales != nullptr && scales->desc().dtype == tensor::DType::f32 &&
                      scales->shape() == tensor::Shape{4};
  if (scaled) {
    factors.assign(scales->floats().begin(), scales->floats().end());
  } else if (sizes && sizes->values.size() == 4 && src.rank() == 3) {
    factors = {1};  // the batch
    for (std::size_t i = 0; i < 3; ++i) {
      factors.push_back(sizes->values[i + 1] / static_cast<double>(src[i]));
    }
  }
  bool whole = factors.size() == 4 && factors[0] == 1 && factors[1] == 1;
  for (const double factor : factors) {
    whole = whole && factor >= 1 && factor <= static_cast<double>(ops::kMaxWindow) &&
            factor == std::floor(factor);
  }
  if (!whole) node.refuse("only images enlarged by stored whole factors are supported");
  up.scale = {static_cast<std::int64_t>(factors[2]), static_cast<std::int64_t>(factors[3])};
  return up;
}

}  // namespace plait::onnx
