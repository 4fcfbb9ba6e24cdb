// Products and text of shapes.
#include "tensor/shape.hpp"

#include <fmt/ranges.h>

#include <charconv>

#include "base/error.hpp"

namespace plait::tensor {

std::int64_t Shape::elements() const {
  std::int64_t product = 1;
  for (std::int64_t dim : dims_) product *= dim;
  return product;
}

Shape Shape::with_front(std::int64_t extent) const {
  std::vector<std::int64_t> dims{extent};
  dims.insert(dims.end(), dims_.begin(), dims_.end());
  return Shape(std::move(dims));
}

Shape Shape::without_front() const {
  return Shape(std::vector<std::int64_t>(dims_.begin() + 1, dims_.end()));
}

std::string Shape::to_string() const {
  return dims_.empty() ? "scalar" : fmt::format("{}", fmt::join(dims_, "x"));
}

Shape parse_shape(const std::string& text) {
  constexpr std::int64_t max_elements = std::int64_t{1} << 40;
  std::vector<std::int64_t> dims;
  const char* at = text.data();
  const char* const end = at + text.size();
  std::int64_t elements = 1;
  while (true) {
    std::int64_t dim = 0;
    const auto [stop, error] = std::from_chars(at, end, dim);
    if (error != std::errc() || dim < 1 || dim > max_elements / elements) {
      user_error("'{}' is not a shape; write positive extents joined by x, for example 3x32x32",
                 text);
    }
    elements *= dim;
    dims.push_back(dim);
    if (stop == end) return Shape(std::move(dims));
    if (*stop != 'x') {
      user_error("'{}' is not a shape; write positive extents joined by x, for example 3x32x32",
                 text);
    }
    at = stop + 1;
  }
}

}  // namespace plait::tensor
