// What a partition costs, counted from the patterns alone.
#pragma once

#include <cstdint>
#include <vector>

#include "partition/partition.hpp"

namespace plait::partition {

/// Words are numbers per sample and training step. Backward sends one partial sum back for every
/// word of forward.
struct PartitionMeasure {
  std::vector<std::int64_t> words_forward;  ///< per layer
  std::int64_t volume_words = 0;            ///< forward and backward, all layers
  std::int64_t max_receive_words = 0;       ///< of the worker that receives most
  std::int64_t messages = 0;  ///< forward: (layer, sender, receiver) with anything to send
  double imbalance = 0;       ///< largest over the layers: non-zeros of the fullest part / mean - 1
};

PartitionMeasure measure_partition(SparseLayers layers, const Partition& partition);

}  // namespace plait::partition
