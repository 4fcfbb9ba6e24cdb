// The shape of a slice, and that it lies inside its input.
#include "ops/slice.hpp"

#include "base/error.hpp"
#include "ops/table.hpp"

namespace plait::ops {

std::string Slice::text() const {
  return fmt::format("slice {}+{}{}", start, length,
                     axis == 0 ? "" : fmt::format(" of axis {}", axis));
}

tensor::Shape Slice::result(std::span<const tensor::Shape> srcs, const std::string& where) const {
  if (axis < 0 || axis >= static_cast<std::int64_t>(srcs[0].rank())) {
    user_error("{}: a slice along axis {} of {}, which has {}", where, axis, srcs[0],
               srcs[0].rank());
  }
  const auto along = static_cast<std::size_t>(axis);
  const std::int64_t channels = srcs[0][along];
  if (start < 0 || length < 1 || start >= channels || length > channels - start) {
    user_error("{}: a slice of {} {} from {} on does not fit its input {}", where, length,
               axis == 0 ? "channels" : fmt::format("along axis {}", axis), start, srcs[0]);
  }
  tensor::Shape dst = srcs[0];
  dst[along] = length;
  return dst;
}

std::vector<OperationInfo> Slice::describe() {
  return {{.name = "slice",
           .onnx = "Slice",
           .torch = "narrow",
           .usual = Slice{},
           .fields = {field(&Slice::start, {.key = "start", .most = kMaxChannels}),
                      field(&Slice::length, {.key = "length",
                                             .least = 1,
                                             .most = kMaxChannels,
                                             .required = true,
                                             .always = true}),
                      field(&Slice::axis, {.key = "axis", .most = 7})}}};
}

}  // namespace plait::ops
