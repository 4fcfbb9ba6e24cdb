// Detects whether an MPI launcher started this process, by the variables that launchers set.
#include <cstdlib>
#include <string_view>

#include "transport/mpi.hpp"

namespace plait::transport {

// mpirun of Open MPI; PMIx (also srun --mpi=pmix); PMI 1 and 2 (MPICH, Intel, srun --mpi=pmi2). A
// plain srun sets SLURM_* only: its processes know nothing of each other.
bool launched_by_mpi() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_SIZE", "PMI_RANK"}) {
    if (std::getenv(name) != nullptr) return true;
  }
  return false;
}

bool launched_by_mpirun() {
  // srun --mpi=pmix names the job slurm.pmix.JOB.STEP; Open MPI sets OMPI_COMM_WORLD_SIZE then too.
  const char* name = std::getenv("PMIX_NAMESPACE");
  if (name != nullptr && std::string_view(name).starts_with("slurm")) return false;
  return std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr;
}

int unconnected_tasks() {
  if (launched_by_mpi()) return 0;
  // A batch script has SLURM_NTASKS too, but only steps have a number of their own.
  const char* tasks = std::getenv("SLURM_STEP_NUM_TASKS");
  if (tasks == nullptr && std::getenv("SLURM_STEP_ID") != nullptr) {
    tasks = std::getenv("SLURM_NTASKS");
  }
  const int count = tasks == nullptr ? 0 : std::atoi(tasks);
  return count > 1 ? count : 0;
}

}  // namespace plait::transport
