// The three tasks of a block and of a layer, as a name. (plan/task.hpp has the tasks of a program.)
#pragma once

namespace plait::kernels {

enum class Pass { forward, backward_data, backward_weights };

}  // namespace plait::kernels
