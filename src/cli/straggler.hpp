// The worker that holds the others up: it computes much longer than its share of the work says.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/workers_table.hpp"

namespace plait {

struct Straggler {
  int worker = 0;
  double times = 1;  ///< as long as the others for the same work
  double cost = 0;   ///< share of the run's time that it alone has cost
};

/// `predicted` and `measured` busy shares of each worker. Nobody below twice the others.
std::optional<Straggler> find_straggler(const std::vector<WorkerFigures>& predicted,
                                        const std::vector<WorkerFigures>& measured);

/// "worker 3 is the straggler: ..."
std::string straggler_text(const Straggler& straggler);

}  // namespace plait
