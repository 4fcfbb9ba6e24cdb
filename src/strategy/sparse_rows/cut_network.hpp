// A network cut by rows: for every layer and worker a block for the columns the worker owns itself
// and one for the columns of each neighbour, which adds to the sums of the one before.
#pragma once

#include "plan/plan.hpp"
#include "strategy/sparse_rows/row_layers.hpp"
#include "strategy/strategy.hpp"

namespace plait::strategy::sparse_rows {

/// What worker `reader` needs of the rows of `owner`.
struct Halo {
  int owner = 0;
  int tensor = -1;  ///< at the reader
  int list = -1;    ///< of Plan::row_lists
  int block = -1;   ///< that multiplies it
};

/// One layer on one worker. Tensors and blocks of the cut network; -1 where there is none.
struct Part {
  int out = -1;      ///< tensor of the sums, or after an activation that is not in place
  int flatten = -1;  ///< before the first layer, where the input is an image
  int local = -1;
  int activation = -1;
  bool in_place = false;  ///< the last piece ends in the activation: it has no forward of its own
  std::vector<Halo> halos{};  ///< ascending owners
};

struct CutNetwork {
  plan::Network network;
  std::vector<std::vector<std::int32_t>> row_lists;
  std::vector<std::vector<Part>> parts;  ///< by layer and worker
  int logits = -1;                       ///< block that ends the network, on worker 0
};

/// `owners` per layer and row; the last layer's are all worker 0.
CutNetwork cut_network(const plan::Network& network, const std::vector<RowLayer>& layers,
                       const RowOwners& owners, int workers);

}  // namespace plait::strategy::sparse_rows
