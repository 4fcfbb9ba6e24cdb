// BatchNorm: normalisation over channels with the statistics of the batch.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ops/parameter.hpp"

namespace plait::ops {

struct OperationInfo;

/// Over channels, statistics over batch and space. running <- (1 - momentum) running + momentum
/// batch, with the unbiased variance, as in PyTorch.
struct BatchNorm {
  double epsilon = 1e-5;
  double momentum = 0.1;
  /// false: neither mean nor bias, so that 0 stays 0: dst = weight src / sqrt(E[src^2] + epsilon).
  bool centered = true;
  bool operator==(const BatchNorm&) const = default;

  std::string_view name() const { return "batch_norm"; }
  std::string text() const { return "bn"; }
  void check(const std::string& where) const;
  tensor::Shape result(std::span<const tensor::Shape> srcs, const std::string& where) const;
  /// weight, bias, running_mean, running_var; of one that is not centered the first and the last.
  std::vector<ParameterSpec> parameters(const tensor::Shape& src) const;
  static std::vector<OperationInfo> describe();
};

}  // namespace plait::ops
