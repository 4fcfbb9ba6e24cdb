// CSR patterns as index tensors, and their comparison with those of a file.
#include "run/sparse_indices.hpp"

#include <algorithm>
#include <limits>

namespace plait {

namespace {

template <class To, class From>
Tensor indices(const std::vector<From>& values, DType dtype) {
  Tensor tensor(Shape{static_cast<std::int64_t>(values.size())}, dtype);
  std::ranges::transform(values, tensor.as<To>().begin(),
                         [](From value) { return static_cast<To>(value); });
  return tensor;
}

std::int64_t index_at(const Tensor& tensor, std::size_t i) {
  return tensor.desc().dtype == DType::i32 ? tensor.as<std::int32_t>()[i]
                                           : tensor.as<std::int64_t>()[i];
}

bool is_index(const Tensor& tensor) {
  return tensor.desc().dtype == DType::i32 || tensor.desc().dtype == DType::i64;
}

}  // namespace

std::vector<NamedTensor> index_tensors(const std::string& weight, const SparsePattern& pattern) {
  const bool small = pattern.size() < std::numeric_limits<std::int32_t>::max();
  if (small) {
    return {{weight + ".crow_indices", indices<std::int32_t>(pattern.row_begin, DType::i32)},
            {weight + ".col_indices", indices<std::int32_t>(pattern.column, DType::i32)}};
  }
  return {{weight + ".crow_indices", indices<std::int64_t>(pattern.row_begin, DType::i64)},
          {weight + ".col_indices", indices<std::int64_t>(pattern.column, DType::i64)}};
}

bool same_indices(const Tensor& tensor, const Tensor& wanted) {
  if (!is_index(tensor) || tensor.shape() != wanted.shape()) return false;
  for (std::size_t i = 0; i < static_cast<std::size_t>(wanted.shape().elements()); ++i) {
    if (index_at(tensor, i) != index_at(wanted, i)) return false;
  }
  return true;
}

}  // namespace plait
