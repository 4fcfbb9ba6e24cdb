// Makes a stage's parts weigh alike.
#pragma once

#include <cstddef>

#include "partition/chain.hpp"

namespace plait::partition {

/// Moves vertices out of parts that are heavier than the tolerance allows, and splits vertices
/// where none fits as a whole; always what adds fewest words for its weight. Ends where no row can
/// go anywhere lighter.
void balance_stage(LayerChain& chain, std::size_t stage);

}  // namespace plait::partition
