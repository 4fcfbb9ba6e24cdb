// Stands in for mpi/ where MPI is not installed.
#include "base/error.hpp"
#include "transport/mpi.hpp"

namespace plait::transport {

bool has_mpi() { return false; }

std::unique_ptr<MpiWorld> make_mpi_world(std::size_t /*board_bytes*/) {
  user_error(
      "this plait was built without MPI: start it without mpirun (`workers` N gives threads), or "
      "install an MPI (libopenmpi-dev) and build again with -DPLAIT_MPI=ON");
}

}  // namespace plait::transport
