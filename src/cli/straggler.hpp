// The worker that held the others up in a run, as text.
#pragma once

#include <optional>
#include <string>

#include "report/breakdown.hpp"
#include "report/record.hpp"
#include "session/train.hpp"

namespace plait {

/// Of the steps that the run's trace has kept. Not one to whom the plan gives that much more work.
std::optional<Straggler> straggler_of(const TrainResult& result, const Prediction& prediction);

/// "worker 3 is the straggler: ..."
std::string straggler_text(const Straggler& straggler);

}  // namespace plait
