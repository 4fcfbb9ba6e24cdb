// Shape: the extents of a tensor, outermost first. A value.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

namespace plait::tensor {

inline constexpr std::int64_t kFloatBytes = sizeof(float);

class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<std::int64_t> dims) : dims_(dims) {}
  explicit Shape(std::vector<std::int64_t> dims) : dims_(std::move(dims)) {}

  std::size_t rank() const { return dims_.size(); }
  std::int64_t operator[](std::size_t axis) const { return dims_[axis]; }
  std::int64_t& operator[](std::size_t axis) { return dims_[axis]; }
  std::span<const std::int64_t> dims() const { return dims_; }

  /// Product of the extents; 1 for rank 0.
  std::int64_t elements() const;
  /// This shape with `extent` in front: sample shape -> batch shape.
  Shape with_front(std::int64_t extent) const;
  /// Without the first extent: batch shape -> sample shape.
  Shape without_front() const;
  /// "3x32x32".
  std::string to_string() const;

  bool operator==(const Shape&) const = default;

 private:
  std::vector<std::int64_t> dims_;
};

/// Reads "3x32x32"; UserError on anything else, on extents below 1 and on absurd sizes.
Shape parse_shape(const std::string& text);

}  // namespace plait::tensor

template <>
struct fmt::formatter<plait::tensor::Shape> : fmt::formatter<std::string> {
  template <class Context>
  auto format(const plait::tensor::Shape& shape, Context& context) const {
    return fmt::formatter<std::string>::format(shape.to_string(), context);
  }
};
