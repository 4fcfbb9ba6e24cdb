// Whether another process of this machine is alive.
#pragma once

#include <cstdint>

namespace plait::transport {

/// A process, and when it began (in ticks since the machine did): its number alone may be reused.
struct ProcessId {
  std::int64_t pid = 0;
  std::uint64_t began = 0;
};

ProcessId this_process();
/// False also for a zombie, and for another process that has got the same number.
bool alive(const ProcessId& process);

}  // namespace plait::transport
