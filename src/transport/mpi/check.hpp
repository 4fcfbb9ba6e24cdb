// MPI's return codes as exceptions.
#pragma once

namespace plait::transport::mpi {

/// Failure that names `call` if `code` is an error. For communicators that return their errors.
void check(int code, const char* call);

}  // namespace plait::transport::mpi
