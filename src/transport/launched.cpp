// Whether a launcher of MPI started this process, told by what launchers leave in the environment.
#include <cstdlib>

#include "transport/mpi.hpp"

namespace plait {

// mpirun of Open MPI; PMIx (also srun --mpi=pmix); PMI 1 and 2 (MPICH, Intel, srun --mpi=pmi2). A
// plain srun sets SLURM_* only: its processes know nothing of each other.
bool launched_by_mpi() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_SIZE", "PMI_RANK"}) {
    if (std::getenv(name) != nullptr) return true;
  }
  return false;
}

}  // namespace plait
