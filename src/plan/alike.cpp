// Finds candidates by a hash, and compares programs task by task, with the samples of one shifted
// to those of the other.
#include "plan/alike.hpp"

#include <algorithm>
#include <unordered_map>

namespace plait::plan {

namespace {

/// Samples of the value that the task is about; none of tasks of a whole minibatch.
template <class What>
const Samples* samples_in(const What& what) {
  if constexpr (requires { what.samples; }) return &what.samples;
  if constexpr (requires { what.message; }) {
    const Value& value = what.message.value;
    return is_permanent(value.role) ? nullptr : &value.samples;
  }
  return nullptr;
}

/// Of the first task that has any.
Samples first_samples(const Program& program) {
  for (const Task& task : program.tasks) {
    const Samples* samples =
        std::visit([](const auto& what) { return samples_in(what); }, task.what);
    if (samples != nullptr) return *samples;
  }
  return {};
}

/// Counts of samples, remembered: tasks of the same samples follow each other.
class Counts {
 public:
  explicit Counts(std::int64_t batch) : batch_(batch) {}
  std::int64_t operator()(const Samples& samples) {
    if (samples != last_) {
      last_ = samples;
      count_ = samples.count(batch_);
    }
    return count_;
  }

 private:
  std::int64_t batch_;
  Samples last_{};
  std::int64_t count_ = batch_;
};

class Comparison {
 public:
  Comparison(const Program& a, const Program& b, std::int64_t batch)
      : a_(a), b_(b), from_(first_samples(a)), to_(first_samples(b)), in_a_(batch), in_b_(batch) {}

  bool run() {
    if (a_.tasks.size() != b_.tasks.size() || from_.of != to_.of) return false;
    for (std::size_t i = 0; i < a_.tasks.size(); ++i) {
      const Task& a = a_.tasks[i];
      const Task& b = b_.tasks[i];
      if (a.when != b.when || a.what.index() != b.what.index()) return false;
      if (!std::visit([&](const auto& of) { return same(of, *get_like(of, b)); }, a.what)) {
        return false;
      }
    }
    return true;
  }

 private:
  template <class What>
  static const What* get_like(const What&, const Task& task) {
    return std::get_if<What>(&task.what);
  }

  template <class What>
  bool same(What a, const What& b) {
    const Samples* samples = samples_in(a);
    if (samples != nullptr && !shifted(*samples, *samples_in(b))) return false;
    if constexpr (requires { a.samples; }) a.samples = b.samples;
    if constexpr (requires { a.message; }) {
      a.message.value.samples = b.message.value.samples;
      a.message.peer = b.message.peer;
    }
    if constexpr (requires { a.group; }) a.group = b.group;
    return a == b;
  }

  bool shifted(const Samples& a, const Samples& b) {
    return a.of == from_.of && b.of == a.of && b.begin - a.begin == to_.begin - from_.begin &&
           b.end - a.end == to_.begin - from_.begin && in_a_(a) == in_b_(b);
  }

  const Program& a_;
  const Program& b_;
  Samples from_;
  Samples to_;
  Counts in_a_;
  Counts in_b_;
};

/// The same for programs that are alike.
std::uint64_t hash_of(const Program& program, std::int64_t batch) {
  std::uint64_t hash = program.tasks.size();
  Counts count(batch);
  const auto mix = [&](std::int64_t number) {
    hash = (hash ^ static_cast<std::uint64_t>(number)) * 0x9E3779B97F4A7C15;
    hash ^= hash >> 29;
  };
  for (const Task& task : program.tasks) {
    const auto kind = static_cast<std::int64_t>(task.what.index());
    std::visit(
        [&](const auto& what) {
          const Samples* samples = samples_in(what);
          std::int64_t name = samples == nullptr ? 0 : count(*samples);
          if constexpr (requires { what.block; }) name = name << 24 ^ what.block;
          if constexpr (requires { what.bucket; }) name = name << 24 ^ what.bucket;
          if constexpr (requires { what.message; }) name = name << 24 ^ what.message.value.index;
          mix(name << 4 ^ kind);
        },
        task.what);
  }
  return hash;
}

}  // namespace

std::vector<int> first_alike(const Plan& plan) {
  std::vector<int> first;
  std::unordered_map<std::uint64_t, std::vector<int>> known;  // by hash: those unlike each other
  for (int worker = 0; worker < plan.workers(); ++worker) {
    const Program& program = plan.programs[static_cast<std::size_t>(worker)];
    std::vector<int>& maybe = known[hash_of(program, plan.batch)];
    const auto found = std::ranges::find_if(maybe, [&](int w) {
      return Comparison(plan.programs[static_cast<std::size_t>(w)], program, plan.batch).run();
    });
    first.push_back(found == maybe.end() ? worker : *found);
    if (found == maybe.end()) maybe.push_back(worker);
  }
  return first;
}

}  // namespace plait::plan
