// The floats of a block's weights that belong to no parameter: each parameter begins at a multiple
// of 16. Norms, sums and messages take whole arrays, so gaps must hold zeros.
#pragma once

namespace plait::kernels {

class Block;

/// `weights`: an array of the block's weights_size(), of weights or gradients.
void clear_gaps(const Block& block, float* weights);

}  // namespace plait::kernels
