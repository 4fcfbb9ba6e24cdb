// A word to those who ask for more threads than the machine has cores.
#pragma once

namespace plait::cli {

/// One line on stderr where `workers` with `threads` each are more than the cores here.
void warn_of_threads(int workers, int threads);

}  // namespace plait::cli
