// The program; everything it does is in cli/.
#include "base/mpi_leaks.hpp"
#include "cli/program.hpp"

int main(int argc, char** argv) { return plait::cli::run_program({argv + 1, argv + argc}); }
