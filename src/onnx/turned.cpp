// Transposes a stored matrix.
#include "onnx/turned.hpp"

namespace plait::onnx {

tensor::Tensor turned(const tensor::Tensor& matrix) {
  const std::int64_t rows = matrix.shape()[0];
  const std::int64_t columns = matrix.shape()[1];
  tensor::Tensor result(tensor::Shape{columns, rows});
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      result.floats()[static_cast<std::size_t>(j * rows + i)] =
          matrix.floats()[static_cast<std::size_t>(i * columns + j)];
    }
  }
  return result;
}

}  // namespace plait::onnx
