// Operation: one send or receive of a member, shared by the thread that waits for it and the one
// that calls MPI.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "transport/carrier.hpp"

namespace plait::transport::mpi {

struct Operation {
  // Fixed from the beginning.
  Label label;
  bool sends = false;
  std::span<const std::byte> out{};  ///< of a send
  std::span<std::byte> in{};         ///< of a receive

  // Used by the thread that calls MPI, until finished.
  int parts = 0;  ///< MPI requests still under way
  int slot = -1;
  std::string error{};  ///< text of a Failure

  bool finished = false;  ///< guarded by the engine, like the next one
  double finished_at = 0;
};

using OperationPtr = std::shared_ptr<Operation>;

}  // namespace plait::transport::mpi
