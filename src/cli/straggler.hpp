// The worker that held the others up in a run, as text.
#pragma once

#include <optional>
#include <string>

#include "report/breakdown.hpp"
#include "report/record.hpp"
#include "session/train.hpp"

namespace plait::cli {

/// Of the steps that the run's trace has kept. Not one to whom the plan gives that much more work.
std::optional<report::Straggler> straggler_of(const session::TrainResult& result,
                                              const report::Prediction& prediction);

/// "worker 3 is the straggler: ..."
std::string straggler_text(const report::Straggler& straggler);

}  // namespace plait::cli
