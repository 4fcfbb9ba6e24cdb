// Turns an MPI error code into a Failure with MPI's own text.
#include "transport/mpi/check.hpp"

#include <mpi.h>

#include "base/error.hpp"

namespace plait::transport::mpi {

void check(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  fail("{} failed: {}", call, text);
}

}  // namespace plait::transport::mpi
