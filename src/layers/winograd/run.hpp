// Running a plan, with OpenMP. Internal to this folder; tensors are as in convolution.hpp.
#pragma once

#include "layers/winograd/plan.hpp"

namespace plait::winograd {

enum class Direction { forward, backward };

// forward: out = in * weights (+ bias, unless null). backward: out = in * weights turned by 180
// degrees, with in and out channels swapped.
void run_data(const DataPlan& plan, Direction direction, const float* in, const float* weights,
              const float* bias, float* out, void* scratch);

// diff_bias may be null.
void run_weights(const WeightsPlan& plan, const float* src, const float* diff_dst,
                 float* diff_weights, float* diff_bias, void* scratch);

}  // namespace plait::winograd
