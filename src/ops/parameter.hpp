// A parameter of an operation: name, shape and how it begins.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tensor/shape.hpp"
#include "tensor/sparse_pattern.hpp"

namespace plait::ops {

enum class Init {
  he_normal,       ///< normal, std = sqrt(2 / fan_in)
  fan_in_uniform,  ///< uniform in +-1 / sqrt(fan_in)
  normal,          ///< std = 1
  constant,        ///< `value`
  given            ///< `values`
};

struct ParameterPart;

/// `trainable` is false for BatchNorm's running statistics, which a step updates without a
/// gradient.
struct ParameterSpec {
  std::string name;
  tensor::Shape shape;
  Init init = Init::constant;
  std::int64_t fan_in = 1;
  double scale = 1;  ///< of random values
  bool trainable = true;
  float value = 0;
  std::shared_ptr<const std::vector<float>> values{};
  /// Of a sparse weight: where its elements belong.
  std::shared_ptr<const tensor::SparsePattern> pattern{};
  /// Where only some elements of a parameter of the model are here; null: all.
  std::shared_ptr<const ParameterPart> part{};
  bool operator==(const ParameterSpec& other) const;  ///< of what is shared, the values
};

/// Element i of the part is element positions[i] of the whole.
struct ParameterPart {
  std::string name;  ///< full name of the whole
  ParameterSpec whole;
  std::vector<std::int64_t> positions;
  bool operator==(const ParameterPart&) const = default;
};

/// The same object, or equal ones.
template <class T>
bool equal_or_same(const std::shared_ptr<const T>& a, const std::shared_ptr<const T>& b) {
  return a == b || (a != nullptr && b != nullptr && *a == *b);
}

}  // namespace plait::ops
