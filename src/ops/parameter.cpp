// Comparison of parameters: of what several of them share, the values.
#include "ops/parameter.hpp"

namespace plait::ops {

bool ParameterSpec::operator==(const ParameterSpec& other) const {
  return name == other.name && shape == other.shape && init == other.init &&
         fan_in == other.fan_in && scale == other.scale && trainable == other.trainable &&
         value == other.value && equal_or_same(values, other.values) &&
         equal_or_same(pattern, other.pattern) && equal_or_same(part, other.part);
}

}  // namespace plait::ops
