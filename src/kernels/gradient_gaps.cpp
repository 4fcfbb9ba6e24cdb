// Writes zeros between the parameters of a block's array.
#include "kernels/gradient_gaps.hpp"

#include <algorithm>

#include "kernels/block.hpp"

namespace plait::kernels {

void clear_gaps(const Block& block, float* weights) {
  std::int64_t end = 0;
  for (const BlockParameter& parameter : block.parameters()) {
    if (!parameter.spec.trainable) continue;
    if (parameter.offset > end) std::fill(weights + end, weights + parameter.offset, 0.0F);
    end = parameter.offset + parameter.physical_size;
  }
  std::fill(weights + end, weights + std::max(end, block.weights_size()), 0.0F);
}

}  // namespace plait::kernels
