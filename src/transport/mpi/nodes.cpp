// Groups the ranks by MPI_Comm_split_type.
#include "transport/mpi/nodes.hpp"

#include "transport/mpi/check.hpp"

namespace plait::transport::mpi {

Nodes find_nodes(MPI_Comm comm) {
  int rank = 0;
  int size = 0;
  check(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
  check(MPI_Comm_size(comm, &size), "MPI_Comm_size");
  MPI_Comm shared = MPI_COMM_NULL;
  check(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &shared),
        "MPI_Comm_split_type");
  int leader = rank;
  check(MPI_Bcast(&leader, 1, MPI_INT, 0, shared), "MPI_Bcast");
  check(MPI_Comm_free(&shared), "MPI_Comm_free");
  std::vector<int> leaders(size);
  check(MPI_Allgather(&leader, 1, MPI_INT, leaders.data(), 1, MPI_INT, comm), "MPI_Allgather");

  // A leader is the lowest rank of its node, so it comes before those it leads.
  Nodes nodes{.of_member = std::vector<int>(size), .here = {}};
  int count = 0;
  for (int member = 0; member < size; ++member) {
    const bool leads = leaders[member] == member;
    nodes.of_member[member] = leads ? count++ : nodes.of_member[leaders[member]];
    if (leaders[member] == leader) nodes.here.push_back(member);
  }
  return nodes;
}

}  // namespace plait::transport::mpi
