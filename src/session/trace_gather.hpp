// What all workers did, brought to worker 0.
#pragma once

#include "trace/trace.hpp"
#include "transport/group.hpp"

namespace plait::session {

/// Every worker calls it; complete on worker 0, empty elsewhere.
trace::Trace gather_events(transport::Group& control, std::span<const trace::Event> mine);

}  // namespace plait::session
