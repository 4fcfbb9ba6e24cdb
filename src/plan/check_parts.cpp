// The list of faults, bounded in length, and questions about tasks that several parts of the check
// ask.
#include "plan/check_parts.hpp"

#include <fmt/format.h>

namespace plait::planning {

namespace {

constexpr std::size_t kMostFaults = 100;

}  // namespace

void FaultList::add(std::string line) {
  if (lines_.size() < kMostFaults) {
    lines_.push_back(std::move(line));
  } else {
    ++left_out_;
  }
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
  if (takes_samples(of.kind) && of.samples != Samples{}) {
    const bool single = of.samples.end == of.samples.begin + 1;
    part = single ? fmt::format(", part {} of {}", of.samples.end, of.samples.of)
                  : fmt::format(", samples {}/{} to {}/{}", of.samples.begin, of.samples.of,
                                of.samples.end, of.samples.of);
  }
  lines_.push_back(fmt::format("worker {}, task {} ({}{}): {}", worker, position,
                               describe(plan_, of), part, what));
}

std::vector<std::string> FaultList::take() {
  if (left_out_ > 0) lines_.push_back(fmt::format("and {} more faults", left_out_));
  return std::move(lines_);
}

bool runs_whenever(const Task& a, const Task& b) {
  if (b.every % a.every != 0) return false;
  // b runs for the minibatches m with m = b.phase - b.offset (mod b.every)
  const std::int64_t step = std::int64_t{b.phase} - b.offset + a.offset;
  return (step % a.every + a.every) % a.every == a.phase;
}

bool same_minibatches(const Task& a, const Task& b) {
  return runs_whenever(a, b) && runs_whenever(b, a);
}

}  // namespace plait::planning
