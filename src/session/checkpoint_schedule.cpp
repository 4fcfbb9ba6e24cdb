// The conditions under which a checkpoint is due.
#include "session/checkpoint_schedule.hpp"

#include <algorithm>
#include <utility>

namespace plait::session {

namespace {

/// Whether something is done at the end of a range only.
bool has_ends(const plan::Plan& plan) {
  return std::ranges::any_of(plan.programs, [](const plan::Program& program) {
    return std::ranges::any_of(program.tasks, &plan::When::at_end, &plan::Task::when);
  });
}

}  // namespace

CheckpointSchedule::CheckpointSchedule(const plan::Plan& plan, const CheckpointOptions& options)
    : options_(options),
      between_ranges_only_(plan.depth() > 0 || std::ranges::max(plan::staleness(plan)) > 0 ||
                           has_ends(plan)) {}

std::int64_t CheckpointSchedule::range_end(std::int64_t step, std::int64_t last) const {
  if (!between_ranges_only_ || options_.every <= 0) return last;
  return std::min(last, (step / options_.every + 1) * options_.every);
}

bool CheckpointSchedule::due(std::int64_t step, bool wanted) const {
  if (!options_.writes) return false;
  return wanted || (options_.every > 0 && step % options_.every == 0);
}

bool CheckpointSchedule::due_by_time() const {
  return options_.minutes > 0 && since_saved_.seconds() > options_.minutes * 60;
}

bool CheckpointSchedule::first_late_save() { return !std::exchange(late_before_, true); }

void CheckpointSchedule::saved(std::int64_t step) {
  saved_step_ = step;
  since_saved_ = Stopwatch();
}

}  // namespace plait::session
