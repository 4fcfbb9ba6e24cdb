// Every value is written once, before it is read, and a gradient is used before the next minibatch
// overwrites it.
#include <fmt/format.h>

#include <algorithm>

#include "plan/check_parts.hpp"
#include "plan/values.hpp"

namespace plait::plan {

namespace {

/// Weights and state are there from the beginning. A gradient counts: it is made anew for every
/// minibatch.
bool is_made(Role role) { return role != Role::weights && role != Role::state; }

/// A gradient, and the partial one that is added to it, are made by several tasks.
bool has_one_writer(Role role) { return role != Role::gradient && role != Role::partial; }

std::string text_of(const Plan& plan, const Value& value) {
  switch (value.role) {
    case Role::tensor: return fmt::format("tensor {}", value.index);
    case Role::diff: return fmt::format("the gradient of tensor {}", value.index);
    case Role::targets: return "the targets";
    case Role::half_tensor:
    case Role::half_diff: return fmt::format("tensor {} as bf16", value.index);
    case Role::sent_rows:
    case Role::received_rows: return fmt::format("the rows of list {}", value.index);
    case Role::partial:
    case Role::gradient:
      return fmt::format("the gradient of {}",
                         plan.network.blocks[static_cast<std::size_t>(value.index)].name);
    default:
      return fmt::format("what another task of {} leaves",
                         plan.network.blocks[static_cast<std::size_t>(value.index)].name);
  }
}

/// One worker at a time.
class ValueCheck {
 public:
  ValueCheck(const Plan& plan, int mode, FaultList& faults)
      : plan_(plan), mode_(mode), faults_(faults) {}

  void run(int worker) {
    table_.clear();
    begun_.clear();
    worker_ = worker;
    const std::vector<Task>& tasks = plan_.programs[static_cast<std::size_t>(worker)].tasks;
    for (const bool writes : {true, false}) {
      for (std::size_t i = 0; i < tasks.size(); ++i) {
        if (!runs_in(tasks[i].when, mode_)) continue;
        accesses_into(plan_, tasks[i], {}, list_);
        const Moment moment{tasks[i].when.offset, static_cast<int>(i)};
        for (const Access& access : list_) {
          if (access.writes != writes || !is_made(access.value.role)) continue;
          if (writes) {
            write(access.value, moment, reads_too(access.value));
          } else {
            read(access.value, moment);
          }
        }
      }
    }
    for (const ValueUse& use : table_.uses()) check_overwriting(use);
  }

 private:
  /// A task that reads what it writes adds to it.
  bool reads_too(const Value& value) const {
    return std::ranges::any_of(
        list_, [&](const Access& access) { return !access.writes && access.value == value; });
  }

  void write(const Value& value, const Moment& moment, bool adds) {
    bool is_new = false;
    const int number = table_.intern(value, is_new);
    ValueUse& use = table_.use(number);
    // What adds may stand before it in the program: it is for an older minibatch then.
    begun_.resize(table_.uses().size(), false);
    const bool again = begun_[static_cast<std::size_t>(number)] && !adds;
    if (!adds) begun_[static_cast<std::size_t>(number)] = true;
    if (again && use.writer != moment.position && has_one_writer(value.role)) {
      faults_.add(worker_, moment.position,
                  fmt::format("writes {}, which {} (task {}) has written for the same minibatch",
                              text_of(plan_, value),
                              describe(plan_, faults_.task(worker_, use.writer)), use.writer));
    }
    if (is_new || moment < use.first) {
      use.first = moment;
      use.writer = moment.position;
    }
    use.last = is_new ? moment : std::max(use.last, moment);
  }

  void read(const Value& value, const Moment& moment) {
    const int number = table_.find(value);
    if (number < 0) {
      faults_.add(
          worker_, moment.position,
          fmt::format("reads {}, which no task of this worker writes{}", text_of(plan_, value),
                      is_permanent(value.role) ? "" : " for these samples"));
      return;
    }
    ValueUse& use = table_.use(number);
    use.last = std::max(use.last, moment);
    if (use.first >= moment) {
      const std::string writer =
          use.writer == moment.position
              ? "nothing has written before"
              : fmt::format("{} (task {}) writes only later",
                            describe(plan_, faults_.task(worker_, use.writer)), use.writer);
      faults_.add(worker_, moment.position,
                  fmt::format("reads {}, which {}", text_of(plan_, value), writer));
    } else if (!runs_whenever(faults_.task(worker_, use.writer).when,
                              faults_.task(worker_, moment.position).when, mode_)) {
      faults_.add(
          worker_, moment.position,
          fmt::format("reads {} in steps in which {} (task {}) rests", text_of(plan_, value),
                      describe(plan_, faults_.task(worker_, use.writer)), use.writer));
    }
  }

  /// There is one array for the gradients of all minibatches.
  void check_overwriting(const ValueUse& use) {
    if (use.value.role != Role::gradient) return;
    const int steps = use.last.offset - use.first.offset;
    if (steps + (use.last.position > use.first.position ? 1 : 0) <= 1) return;
    faults_.add(worker_, use.last.position,
                fmt::format("uses {} when {} (task {}) has overwritten it for the next minibatch",
                            text_of(plan_, use.value),
                            describe(plan_, faults_.task(worker_, use.writer)), use.writer));
  }

  const Plan& plan_;
  int mode_;
  FaultList& faults_;
  int worker_ = 0;
  ValueTable table_;
  std::vector<bool> begun_;  ///< by number: written without being read before
  std::vector<Access> list_;
};

}  // namespace

void check_values(const Plan& plan, int mode, FaultList& faults) {
  ValueCheck check(plan, mode, faults);
  faults.each_worker([&](int worker) { check.run(worker); });
}

}  // namespace plait::plan
