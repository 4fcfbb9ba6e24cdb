// Shapes, parameters and multiply-adds of a sparse linear layer, and of a piece of one.
#include "ops/sparse_linear.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "ops/table.hpp"
#include "ops/window.hpp"

namespace plait::ops {

bool LinearPiece::operator==(const LinearPiece& other) const {
  return equal_or_same(weight, other.weight) && equal_or_same(bias, other.bias);
}

bool SparseLinear::operator==(const SparseLinear& other) const {
  return equal_or_same(pattern, other.pattern) && equal_or_same(values, other.values) &&
         bias == other.bias && initial_bias == other.initial_bias &&
         equal_or_same(piece, other.piece) && ends_in == other.ends_in;
}

std::string SparseLinear::text() const {
  return fmt::format("sparse {} ({:.3g} % there)", pattern->rows, 100 * (1 - pattern->sparsity()));
}

tensor::Shape SparseLinear::result(std::span<const tensor::Shape> srcs,
                                   const std::string& where) const {
  require_features(srcs[0], "sparse_linear", where);
  if (srcs[0][0] != pattern->columns) {
    user_error("{}: a matrix of {} x {} does not fit its input of {} features", where,
               pattern->rows, pattern->columns, srcs[0][0]);
  }
  return {pattern->rows};
}

std::vector<ParameterSpec> SparseLinear::parameters(const tensor::Shape&) const {
  std::vector<ParameterSpec> list;
  if (piece != nullptr) {
    list.push_back({.name = "weight", .shape = {pattern->size()}, .part = piece->weight});
    if (bias) list.push_back({.name = "bias", .shape = {pattern->rows}, .part = piece->bias});
    return list;
  }
  list.push_back({.name = "weight",
                  .shape = {pattern->size()},
                  .init = values == nullptr ? Init::he_normal : Init::given,
                  .fan_in = std::max<std::int64_t>(1, pattern->size() / pattern->rows),
                  .values = values,
                  .pattern = pattern});
  if (bias) {
    list.push_back(
        {.name = "bias", .shape = {pattern->rows}, .value = static_cast<float>(initial_bias)});
  }
  return list;
}

std::vector<std::int64_t> SparseLinear::weight_extents(const tensor::Shape&) const {
  return {pattern->rows, 1 + pattern->size() / pattern->rows};
}

std::int64_t SparseLinear::macs(const tensor::Shape&, const tensor::Shape&) const {
  return pattern->size();
}

std::vector<OperationInfo> SparseLinear::describe() {
  return {{.name = "sparse_linear",
           .onnx = "Gemm",  // with zeros where it has nothing
           .onnx_constants = {{"transB", 1}},
           .usual = SparseLinear{},
           .fields = {
               field(&SparseLinear::bias, {.key = "bias"}),
               field(&SparseLinear::initial_bias,
                     {.key = "initial_bias", .least = -kLarge, .most = kLarge}),
           }}};
}

}  // namespace plait::ops
