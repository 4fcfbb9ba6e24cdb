// Which processes share memory.
#pragma once

#include <mpi.h>

#include <vector>

namespace plait::transport::mpi {

/// Blocking and collective: before the engine starts.
struct Nodes {
  std::vector<int> of_member;  ///< the node of each rank; numbered by their lowest ranks
  std::vector<int> here;       ///< ranks on this node, rising
};
Nodes find_nodes(MPI_Comm comm);

}  // namespace plait::transport::mpi
