// The layers of this folder.
#pragma once

#include "kernels/layer.hpp"

namespace plait::kernels::sparse {

/// Sparse linear on panels, with request.activation in the same pass.
std::unique_ptr<Layer> make_linear(const LayerRequest& request);
/// plain <-> panels, to request.convert_to.
std::unique_ptr<Layer> make_conversion(const LayerRequest& request);

}  // namespace plait::kernels::sparse
