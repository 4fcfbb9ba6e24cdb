// Compares programs task by task, with the samples of one shifted to those of the other.
#include "plan/alike.hpp"

#include <algorithm>

namespace plait::plan {

namespace {

/// Of the first task that has any.
Samples first_samples(const Program& program) {
  const auto found = std::ranges::find_if(program.tasks, takes_samples);
  return found == program.tasks.end() ? Samples{} : samples_of(*found);
}

bool alike(const Program& a, const Program& b, std::int64_t batch) {
  if (a.tasks.size() != b.tasks.size()) return false;
  const Samples from = first_samples(a);
  const Samples to = first_samples(b);
  if (from.of != to.of) return false;
  for (std::size_t i = 0; i < a.tasks.size(); ++i) {
    if (message_of(b.tasks[i]) != nullptr) return false;
    Task shifted = a.tasks[i];
    if (takes_samples(shifted)) {
      Samples samples = samples_of(shifted);
      if (samples.of != from.of) return false;
      const std::int64_t count = samples.count(batch);
      samples.begin += to.begin - from.begin;
      samples.end += to.begin - from.begin;
      if (samples.count(batch) != count) return false;
      set_samples(shifted, samples);
    }
    if (shifted != b.tasks[i]) return false;
  }
  return true;
}

}  // namespace

std::vector<int> first_alike(const Plan& plan) {
  std::vector<int> first;
  for (int worker = 0; worker < plan.workers(); ++worker) {
    const auto program = [&](int w) -> const Program& {
      return plan.programs[static_cast<std::size_t>(w)];
    };
    const bool same = worker > 0 && alike(program(first.back()), program(worker), plan.batch);
    first.push_back(same ? first.back() : worker);
  }
  return first;
}

}  // namespace plait::plan
