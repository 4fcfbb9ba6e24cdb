// Linear: a dense matrix and a bias on flat features, or on each row of a sequence of them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ops/parameter.hpp"

namespace plait::ops {

struct OperationInfo;

struct Linear {
  std::int64_t out_features = 0;
  bool bias = true;
  double initial_scale = 1;  ///< of the random weight
  bool operator==(const Linear&) const = default;

  std::string_view name() const { return "linear"; }
  std::string text() const;
  void check(const std::string& where) const;
  tensor::Shape result(std::span<const tensor::Shape> srcs, const std::string& where) const;
  std::vector<ParameterSpec> parameters(const tensor::Shape& src) const;
  std::vector<std::int64_t> weight_extents(const tensor::Shape& src) const;
  std::int64_t macs(const tensor::Shape& src, const tensor::Shape& dst) const;
  static std::vector<OperationInfo> describe();
};

}  // namespace plait::ops
