// The shape of a slice, and that it lies inside its input.
#include "ops/slice.hpp"

#include "base/error.hpp"
#include "ops/table.hpp"

namespace plait::ops {

std::string Slice::text() const { return fmt::format("slice {}+{}", start, length); }

tensor::Shape Slice::result(std::span<const tensor::Shape> srcs, const std::string& where) const {
  const std::int64_t channels = srcs[0][0];
  if (start < 0 || length < 1 || start >= channels || length > channels - start) {
    user_error("{}: a slice of {} channels from {} on does not fit its input {}", where, length,
               start, srcs[0]);
  }
  tensor::Shape dst = srcs[0];
  dst[0] = length;
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
                                             .always = true})}}};
}

}  // namespace plait::ops
