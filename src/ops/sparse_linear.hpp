// SparseLinear: a linear layer with some elements of its matrix only, in training too.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ops/activation.hpp"
#include "ops/parameter.hpp"

namespace plait::ops {

/// Where the parameters of a piece of a linear layer belong.
struct LinearPiece {
  std::shared_ptr<const ParameterPart> weight;
  std::shared_ptr<const ParameterPart> bias;  ///< null where the piece has none
  bool operator==(const LinearPiece& other) const;
};

/// Linear with the elements of `pattern` (out_features x in_features) only. The weight is a flat
/// array in the pattern's order. In model files the matrix lies in a file of its own.
struct SparseLinear {
  std::shared_ptr<const tensor::SparsePattern> pattern;
  bool bias = true;
  /// How the weight begins; null: random.
  std::shared_ptr<const std::vector<float>> values{};
  double initial_bias = 0;
  /// Of a piece of a layer cut by rows; null: a layer of its own. Equal pieces share this object.
  std::shared_ptr<const LinearPiece> piece{};
  /// Forward ends in this activation (behind a sum that is computed with it), whose gradient is
  /// another block's task. Of pieces only.
  std::optional<Activation> ends_in{};
  bool operator==(const SparseLinear& other) const;

  std::string_view name() const { return "sparse_linear"; }
  std::string text() const;
  tensor::Shape result(std::span<const tensor::Shape> srcs, const std::string& where) const;
  std::vector<ParameterSpec> parameters(const tensor::Shape& src) const;
  std::vector<std::int64_t> weight_extents(const tensor::Shape& src) const;
  std::int64_t macs(const tensor::Shape& src, const tensor::Shape& dst) const;
  static std::vector<OperationInfo> describe();
};

}  // namespace plait::ops
