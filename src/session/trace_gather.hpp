// What all workers did, brought to worker 0.
#pragma once

#include "trace/trace.hpp"
#include "transport/group.hpp"

namespace plait {

/// Every worker calls it; complete on worker 0, empty elsewhere.
Trace gather_events(Group& control, std::span<const Event> mine);

}  // namespace plait
