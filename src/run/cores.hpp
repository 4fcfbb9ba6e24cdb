// The machine's cores, as this process may use them, and threads put onto them.
#pragma once

#include <sched.h>

#include <cstdint>
#include <string>

namespace plait::run {

/// The most threads that a worker may be given.
inline constexpr std::int64_t kMaxThreads = 4096;

/// Cores (not hyperthreads) that this process may use: those of its affinity mask, and no more than
/// the CPU quota of its control group; at least 1. What mpirun binds a process to does not count.
int usable_cores();
/// The same for another mask.
int usable_cores(const cpu_set_t& mask);

/// How worker threads are put onto cores: "auto" pins when the job fills the machine, "cores"
/// always, "none" never.
struct Pinning {
  std::string mode = "auto";
  int place = 0;    ///< of the worker among those of its node
  int workers = 1;  ///< on its node
  int threads = 1;  ///< of each worker
};

/// Binds the calling thread, and with it every thread it starts later, to the cores of its place.
/// Two jobs side by side would share cores, therefore "auto" leaves a job alone that does not fill
/// the machine; then a binding by the launcher that is too narrow for `threads` is widened. Returns
/// whether it pinned.
bool pin_this_thread(const Pinning& pinning);

/// UserError on an unknown word.
void check_pinning(const std::string& mode);

}  // namespace plait::run
