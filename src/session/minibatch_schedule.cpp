// From the settings of a run to its minibatches.
#include "session/minibatch_schedule.hpp"

#include <algorithm>
#include <utility>

namespace plait::session {

namespace {

/// The part of each minibatch that the load tasks of a program bring.
data::BatchOptions::Part part_of(const plan::Program& program) {
  data::BatchOptions::Part part{0, 0, 0};
  for (const plan::Task& task : program.tasks) {
    const auto* load = std::get_if<plan::Load>(&task.what);
    if (load == nullptr) continue;
    const auto& [begin, end, of] = load->samples;
    if (part.parts == 0) part = {begin, end, of};
    part.begin = std::min(part.begin, begin);
    part.end = std::max(part.end, end);
  }
  return part.parts == 0 ? data::BatchOptions::Part{0, 0, 1} : part;
}

}  // namespace

MinibatchSchedule::MinibatchSchedule(const TrainConfig& config, const Setup& setup,
                                     const plan::Program& program)
    : stream_(std::make_shared<data::BatchStream>(
          setup.data.train, data::BatchOptions{.batch = config.batch,
                                               .seed = config.seed,
                                               .shuffle = config.shuffle,
                                               .drop_last = config.drop_last,
                                               .threads = data_threads(config),
                                               .part = part_of(program)})),
      weights_(*stream_, setup.weights, program.averages),
      total_steps_(config.steps > 0 ? config.steps : config.epochs * per_epoch()),
      schedule_(schedule_spec(config, per_epoch(), total_steps_)) {
  optim::check_schedule(schedule_);
}

run::Minibatch MinibatchSchedule::of(std::int64_t minibatch) const {
  return {.samples = stream_->batch_size(minibatch % per_epoch()),
          .learning_rate = rate(minibatch),
          .weight = weights_.of(minibatch)};
}

bool MinibatchSchedule::follow(std::span<const double> test_losses) {
  const std::int64_t drops = plateau_drops(schedule_, test_losses);
  return std::exchange(drops_, drops) < drops;
}

std::int64_t MinibatchSchedule::samples(std::int64_t first, std::int64_t last) const {
  std::int64_t sum = 0;
  for (std::int64_t m = first; m < last; ++m) sum += stream_->batch_size(m % per_epoch());
  return sum;
}

}  // namespace plait::session
