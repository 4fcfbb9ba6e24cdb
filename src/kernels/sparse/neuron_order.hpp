// The order of the neurons between the layers of a chain is nobody's business but ours: neurons
// that are read together lie together, which caches and prefetchers like.
#pragma once

#include <vector>

#include "tensor/sparse_pattern.hpp"

namespace plait::kernels::sparse {

struct OrderedChain {
  std::vector<tensor::SparseMatrix> layers;
  std::vector<std::int32_t> place;  ///< of every input in the first layer's columns
};

/// The same chain with its inputs and hidden neurons in the order of the next layer's column
/// classes; the last layer's rows stay. Every sum keeps its order, so values keep their bits.
OrderedChain ordered(const std::vector<tensor::SparseMatrix>& layers);

}  // namespace plait::kernels::sparse
