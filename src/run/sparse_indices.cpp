// CSR patterns as index tensors, and their comparison with those of a file.
#include "run/sparse_indices.hpp"

#include <algorithm>
#include <limits>

namespace plait::run {

namespace {

template <class To, class From>
tensor::Tensor indices(const std::vector<From>& values, tensor::DType dtype) {
  tensor::Tensor tensor(tensor::Shape{static_cast<std::int64_t>(values.size())}, dtype);
  std::ranges::transform(values, tensor.as<To>().begin(),
                         [](From value) { return static_cast<To>(value); });
  return tensor;
}

std::int64_t index_at(const tensor::Tensor& tensor, std::size_t i) {
  return tensor.desc().dtype == tensor::DType::i32 ? tensor.as<std::int32_t>()[i]
                                                   : tensor.as<std::int64_t>()[i];
}

bool is_index(const tensor::Tensor& tensor) {
  return tensor.desc().dtype == tensor::DType::i32 || tensor.desc().dtype == tensor::DType::i64;
}

}  // namespace

std::vector<checkpoint::NamedTensor> index_tensors(const std::string& weight,
                                                   const tensor::SparsePattern& pattern) {
  const bool small = pattern.size() < std::numeric_limits<std::int32_t>::max();
  if (small) {
    return {
        {weight + ".crow_indices", indices<std::int32_t>(pattern.row_begin, tensor::DType::i32)},
        {weight + ".col_indices", indices<std::int32_t>(pattern.column, tensor::DType::i32)}};
  }
  return {{weight + ".crow_indices", indices<std::int64_t>(pattern.row_begin, tensor::DType::i64)},
          {weight + ".col_indices", indices<std::int64_t>(pattern.column, tensor::DType::i64)}};
}

bool same_indices(const tensor::Tensor& tensor, const tensor::Tensor& wanted) {
  if (!is_index(tensor) || tensor.shape() != wanted.shape()) return false;
  for (std::size_t i = 0; i < static_cast<std::size_t>(wanted.shape().elements()); ++i) {
    if (index_at(tensor, i) != index_at(wanted, i)) return false;
  }
  return true;
}

}  // namespace plait::run
