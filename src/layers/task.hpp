// The three tasks of a block and of a layer.
#pragma once

namespace plait {

enum class Task { forward, backward_data, backward_weights };

}  // namespace plait
