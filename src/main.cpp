// The program; everything it does is in cli/.
#include "cli/program.hpp"

#ifdef __SANITIZE_ADDRESS__
#include "transport/mpi_begun.hpp"

/// Open MPI keeps memory of its own to the end, in modules that are unloaded by then.
extern "C" int __lsan_is_turned_off() { return plait::transport::mpi_has_begun() ? 1 : 0; }
#endif

int main(int argc, char** argv) { return plait::cli::run_program({argv + 1, argv + argc}); }
