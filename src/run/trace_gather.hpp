// The traces of MPI processes, brought to worker 0.
#pragma once

#include "trace/trace.hpp"
#include "transport/group.hpp"

namespace plait {

/// Every process calls it; complete on worker 0, empty elsewhere.
Trace gather_traces(Group& control, const WorkerTrace& mine);

}  // namespace plait
