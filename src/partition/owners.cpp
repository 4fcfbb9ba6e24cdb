// Expands the parts of vertices to owners of rows.
#include "partition/owners.hpp"

namespace plait::partition {

Partition to_partition(const LayerChain& chain, bool own_input) {
  Partition partition;
  partition.parts = chain.parts;
  for (std::size_t k = 0; k < chain.stages.size(); ++k) {
    std::vector<std::int32_t> owners;
    owners.reserve(chain.stages[k].vertex_of_row.size());
    for (const std::int32_t vertex : chain.stages[k].vertex_of_row) {
      owners.push_back(chain.part[k][static_cast<std::size_t>(vertex)]);
    }
    if (own_input && k == 0) {
      partition.input_owners = std::move(owners);
    } else {
      partition.owners.push_back(std::move(owners));
    }
  }
  return partition;
}

}  // namespace plait::partition
