// Rows (features) of a tensor packed together to travel, and put back.
#pragma once

#include <cstdint>
#include <span>

#include "tensor/tensor.hpp"

namespace plait::run {

/// packed <- those rows of a tensor that lies as `desc` says (plain or panels); packed lies as a
/// tensor with rows.size() features would.
void pack_rows(const tensor::TensorDesc& desc, const float* tensor,
               std::span<const std::int32_t> rows, float* packed);

/// The rows of tensor <- packed and all others <- 0, or (add) the rows += packed.
void unpack_rows(const tensor::TensorDesc& desc, const float* packed,
                 std::span<const std::int32_t> rows, bool add, float* tensor);

}  // namespace plait::run
