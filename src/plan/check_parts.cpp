// The list of faults, bounded in length, and questions about tasks that several parts of the check
// ask.
#include "plan/check_parts.hpp"

#include <fmt/format.h>

namespace plait::plan {

namespace {

constexpr std::size_t kMostFaults = 100;

}  // namespace

void FaultList::add(std::string line) {
  if (lines_.size() < kMostFaults) {
    lines_.push_back(std::move(line) + mode_);
  } else {
    ++left_out_;
  }
}

void FaultList::in_mode(int mode) {
  mode_ = plan_.modes.size() > 1 ? fmt::format(" (in mode {})", mode) : "";
}

const Task& FaultList::task(int worker, int position) const {
  return plan_.programs[static_cast<std::size_t>(worker)].tasks[static_cast<std::size_t>(position)];
}

void FaultList::add(int worker, int position, const std::string& what) {
  if (lines_.size() >= kMostFaults) {
    ++left_out_;
    return;
  }
  const Task& of = task(worker, position);
  std::string part;
  const Samples samples = samples_of(of);
  if (samples != Samples{}) {
    const bool single = samples.end == samples.begin + 1;
    part = single ? fmt::format(", part {} of {}", samples.end, samples.of)
                  : fmt::format(", samples {}/{} to {}/{}", samples.begin, samples.of, samples.end,
                                samples.of);
  }
  add(fmt::format("worker {}, task {} ({}{}): {}", worker, position, describe(plan_, of), part,
                  what));
}

std::vector<std::string> FaultList::take() {
  if (left_out_ > 0) lines_.push_back(fmt::format("and {} more faults", left_out_));
  return std::move(lines_);
}

}  // namespace plait::plan
