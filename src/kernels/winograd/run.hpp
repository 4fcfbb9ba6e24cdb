// Running a plan, with OpenMP. Internal to this folder; tensors are as in convolution.hpp.
#pragma once

#include "kernels/winograd/plan.hpp"

namespace plait::kernels::winograd {

// forward (plan.method): out = in * weights (+ bias, unless null). backward_data: in is diff_dst,
// out is diff_src and bias is null.
void run_data(const DataPlan& plan, const float* in, const float* weights, const float* bias,
              float* out, void* scratch);

// diff_bias may be null.
void run_weights(const WeightsPlan& plan, const float* src, const float* diff_dst,
                 float* diff_weights, float* diff_bias, void* scratch);

}  // namespace plait::kernels::winograd
