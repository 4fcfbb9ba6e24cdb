// Linear layers on rows: ONNX multiplies these by the transposed matrix.
#pragma once

#include "ops/operation.hpp"
#include "tensor/tensor.hpp"

namespace plait::onnx {

/// Whether it is a linear layer on a sequence of rows, which Gemm does not take.
inline bool multiplies_rows(const ops::Operation& layer, const tensor::Shape& src) {
  return std::holds_alternative<ops::Linear>(layer) && src.rank() > 1;
}

/// The transposed matrix.
tensor::Tensor turned(const tensor::Tensor& matrix);

}  // namespace plait::onnx
