// Whether MPI is in use in this process, whoever began it.
#pragma once

namespace plait::transport {

bool mpi_has_begun();

}  // namespace plait::transport
