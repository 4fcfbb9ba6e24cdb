// First partitions of one stage, from nothing but the stage.
#pragma once

#include "partition/chain.hpp"

namespace plait::partition {

/// Fills part after part, always with the vertex that shares most columns with the part so far.
Parts grown_parts(const Stage& stage, int parts);
/// Fills part after part in the order of the vertices.
Parts ordered_parts(const Stage& stage, int parts);

}  // namespace plait::partition
