// The places of a sparse weight in files: beside the values "x.weight" lie "x.weight.crow_indices"
// and "x.weight.col_indices", the arrays PyTorch's CSR tensors are made of.
#pragma once

#include <string>
#include <vector>

#include "checkpoint/safetensors.hpp"
#include "tensor/sparse_pattern.hpp"

namespace plait::run {

/// int32, or int64 where there are 2^31 elements or more.
std::vector<checkpoint::NamedTensor> index_tensors(const std::string& weight,
                                                   const tensor::SparsePattern& pattern);

/// Whether `tensor` holds these indices, in either type.
bool same_indices(const tensor::Tensor& tensor, const tensor::Tensor& wanted);

}  // namespace plait::run
