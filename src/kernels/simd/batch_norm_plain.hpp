// The passes of batch_norm.hpp for plain layouts (block = 1): images NxCxHxW and features NxC.
// Rare in practice, so plain loops.
#pragma once

#include "kernels/simd/batch_norm.hpp"

namespace plait::kernels::simd {

void batch_norm_sums_plain(const BatchNormPass& pass);
void batch_norm_apply_plain(const BatchNormPass& pass);
void batch_norm_diff_sums_plain(const BatchNormPass& pass);
void batch_norm_diff_apply_plain(const BatchNormPass& pass);

}  // namespace plait::kernels::simd
