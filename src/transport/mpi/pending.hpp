// Pending: MPI requests under way, each with what belongs to it. Used by one thread.
#pragma once

#include <mpi.h>

#include <memory>
#include <vector>

#include "transport/mpi/operation.hpp"

namespace plait::transport::mpi {

/// What an MPI request was for.
struct Part {
  OperationPtr operation{};               ///< null: nothing waits for it
  std::unique_ptr<std::byte[]> buffer{};  ///< kept as long as MPI uses it
};

class Pending {
 public:
  bool empty() const { return requests_.empty(); }
  bool only_large_sends() const;
  void add(MPI_Request request, Part part);
  /// Those that have completed since the last call. Throws Failure for any that failed.
  std::vector<Part> completed();
  /// Takes back the receives that have not begun; they complete.
  void cancel_receives();

 private:
  std::vector<MPI_Request> requests_;
  std::vector<Part> parts_;
  std::vector<int> indices_;
  std::vector<MPI_Status> statuses_;
};

}  // namespace plait::transport::mpi
