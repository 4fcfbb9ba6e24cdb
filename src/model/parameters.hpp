// The parameters a layer has: names, shapes and how they begin.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "model/spec.hpp"
#include "tensor/tensor.hpp"

namespace plait::model {

enum class Init {
  he_normal,       ///< normal, std = sqrt(2 / fan_in)
  fan_in_uniform,  ///< uniform in +-1 / sqrt(fan_in)
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

struct LinearPiece {
  std::shared_ptr<const ParameterPart> weight;
  std::shared_ptr<const ParameterPart> bias;  ///< null where the piece has none
  bool operator==(const LinearPiece& other) const;
};

/// In fixed order: weight, bias; BatchNorm: weight, bias, running_mean, running_var (of one
/// that is not centered only the first and the last).
std::vector<ParameterSpec> layer_parameters(const LayerSpec& layer, const tensor::Shape& src);

/// Of all nodes, named "node.weight" (or "weight" where the node has no name).
std::vector<ParameterSpec> block_parameters(const BlockSpec& block,
                                            std::span<const tensor::Shape> srcs);
/// Of a block with one input.
inline std::vector<ParameterSpec> block_parameters(const BlockSpec& block,
                                                   const tensor::Shape& src) {
  return block_parameters(block, {&src, 1});
}

/// Trainable elements of the whole network.
std::int64_t parameter_count(const ModelSpec& model);

/// The begin of a parameter, plain layout. Depends on (seed, full name) only, so that the same
/// weights come out whichever worker makes them.
tensor::Tensor initial_value(const ParameterSpec& parameter, std::uint64_t seed,
                             const std::string& full_name);

}  // namespace plait::model
