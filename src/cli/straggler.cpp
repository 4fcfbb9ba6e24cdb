// When a worker counts as a straggler, and the sentence about it.
#include "cli/straggler.hpp"

#include <fmt/format.h>

namespace plait::cli {

namespace {

constexpr double kBeyondThePlan = 1.5;

}  // namespace

std::optional<report::Straggler> straggler_of(const session::TrainResult& result,
                                              const report::Prediction& prediction) {
  const auto found = report::find_straggler(report::break_down(result.plan, result.trace),
                                            report::break_down(result.plan, prediction.trace));
  if (!found || !found->planned) return found;
  const bool as_planned = found->compute < kBeyondThePlan * *found->planned * found->others;
  return as_planned ? std::nullopt : found;
}

std::string straggler_text(const report::Straggler& straggler) {
  return fmt::format(
      "worker {} is the straggler: it computes {:.1f} ms a step, the others {:.1f} ms; that costs "
      "about {:.1f} ms of every step: look at what else its core or node does",
      straggler.worker, 1e3 * straggler.compute, 1e3 * straggler.others, 1e3 * straggler.cost());
}

}  // namespace plait::cli
