// Members as MPI processes. One thread of each process makes all MPI calls and keeps transfers
// moving while the member computes. A build without MPI has the same functions; they say so.
#pragma once

#include <cstddef>
#include <memory>

#include "transport/board.hpp"
#include "transport/group.hpp"

namespace plait::transport {

/// Must outlive its groups and their requests, and be destroyed by the thread that made it.
class MpiWorld {
 public:
  /// Waits for all members and finalises MPI. After an abort, or if an exception passes (which
  /// aborts), it leaves at once and without MPI_Finalize: what is left to do is exit_all().
  virtual ~MpiWorld() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual std::unique_ptr<Group> group() = 0;
  /// As ThreadWorld::control_group.
  virtual std::unique_ptr<Group> control_group() = 0;
  virtual Board& board() = 0;
  /// Ends every process of the job now, this one too, with this exit code.
  [[noreturn]] virtual void exit_all(int code) = 0;
};

/// True in a process that mpirun or srun started (read from the environment; MPI is not touched).
bool launched_by_mpi();
/// True where that was Open MPI's mpirun: what it binds a process to is its own choice, not a limit
/// that a batch system has set.
bool launched_by_mpirun();
/// The tasks of this step of Slurm where they were started without MPI (a plain srun) and know
/// nothing of each other; 0 where all is well.
int unconnected_tasks();
/// False: this build has no MPI.
bool has_mpi();
/// Initialises MPI (once per process). UserError where this build has none.
std::unique_ptr<MpiWorld> make_mpi_world(std::size_t board_bytes);

}  // namespace plait::transport
