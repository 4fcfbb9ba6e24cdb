// Activation: a function of each element on its own.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/shape.hpp"

namespace plait::ops {

struct OperationInfo;

/// gelu: the exact one, with erf. clip: to [0, ceiling], the GraphChallenge's. leaky_relu: slope x
/// below 0. silu: x sigmoid(x). hard_sigmoid: (x + 3) / 6 clipped to [0, 1]. hard_swish:
/// x hard_sigmoid(x).
enum class ActivationKind {
  relu,
  tanh,
  sigmoid,
  gelu,
  clip,
  leaky_relu,
  silu,
  hard_sigmoid,
  hard_swish
};

/// Whether the derivative follows from the result alone, so that src need not be kept.
constexpr bool derivative_from_dst(ActivationKind kind) {
  return kind != ActivationKind::gelu && kind != ActivationKind::silu &&
         kind != ActivationKind::hard_swish;
}

struct Activation {
  ActivationKind kind = ActivationKind::relu;
  double ceiling = 32;  ///< of clip
  double slope = 0.01;  ///< of leaky_relu
  bool operator==(const Activation&) const = default;

  std::string_view name() const;
  tensor::Shape result(std::span<const tensor::Shape> srcs, const std::string& where) const;
  static std::vector<OperationInfo> describe();
};

}  // namespace plait::ops
