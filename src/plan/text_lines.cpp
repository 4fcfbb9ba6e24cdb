// Folds tasks over consecutive blocks into lines.
#include "plan/text_lines.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "plan/version_tasks.hpp"

namespace plait::plan {

namespace {

bool has_parameters(const Network& network, int block) {
  return network.blocks[static_cast<std::size_t>(block)].parameters > 0;
}

/// Consecutive tasks of one block.
struct Unit {
  std::vector<TaskKind> kinds{};
  int block = -1;
  When when{};
  std::optional<Samples> samples{};  ///< where they are taken
  std::optional<int> delay{};        ///< where weights are read
};

bool is_of_block(const Task& task) { return block_of(task) >= 0 && message_of(task) == nullptr; }

Unit unit_of(const Plan& plan, const Task& task) {
  Unit unit{.kinds = {kind_of(task)}, .block = block_of(task), .when = task.when};
  if (takes_samples(task)) unit.samples = samples_of(task);
  if (reads_version(plan, task)) unit.delay = delay_of(task);
  return unit;
}

/// Whether both can be said in one breath: at the same time, of the same samples and the same
/// weights unless one has none.
bool same_place(const Unit& a, const Unit& b) {
  return a.when == b.when && (!a.delay || !b.delay || a.delay == b.delay) &&
         (!a.samples || !b.samples || a.samples == b.samples);
}

/// Takes over what `unit` has none of.
void complete(Unit& unit, const Unit& more) {
  if (!unit.samples) unit.samples = more.samples;
  if (!unit.delay) unit.delay = more.delay;
}

/// What is left of a block's tasks when it has no parameters.
std::vector<TaskKind> without_weights(std::vector<TaskKind> kinds) {
  std::erase_if(kinds, [](TaskKind kind) {
    return kind == TaskKind::backward_weights || kind == TaskKind::add_gradient ||
           kind == TaskKind::update;
  });
  return kinds;
}

std::string time_text(const When& when, int delay = 0) {
  std::string text;
  if (when.offset != 0) text += fmt::format(", offset {}", when.offset);
  if (delay != 0) text += fmt::format(", weights {} update{} old", delay, delay == 1 ? "" : "s");
  if (when.every != 1) text += fmt::format(", every {} steps (phase {})", when.every, when.phase);
  if (when.at_end) text += ", at the end of an epoch";
  if (when.mode >= 0) text += fmt::format(", in mode {}", when.mode);
  return text;
}

/// A run of units that grows block by block.
struct Run {
  Unit unit{};
  int last = -1;
  int count = 1;
  int direction = 0;
  bool has_parameters = false;
  std::size_t end = 0;  ///< the task after it
};

class Folder {
 public:
  Folder(const Plan& plan, const std::vector<Task>& tasks) : plan_(plan), tasks_(tasks) {}

  std::vector<Line> run() {
    while (next_ < tasks_.size()) {
      const Task& task = tasks_[next_];
      if (is_of_block(task)) {
        fold_blocks();
      } else if (is<Reduce>(task)) {
        fold_buckets();
      } else {
        lines_.push_back({.what = describe(plan_, task), .when = time_text(task.when)});
        if (takes_samples(task)) lines_.back().samples = samples_of(task);
        ++next_;
      }
    }
    return std::move(lines_);
  }

 private:
  Unit read_unit(std::size_t& at, bool with_update) const {
    Unit unit = unit_of(plan_, tasks_[at++]);
    for (; at < tasks_.size() && is_of_block(tasks_[at]) && block_of(tasks_[at]) == unit.block;
         ++at) {
      const Unit more = unit_of(plan_, tasks_[at]);
      const TaskKind kind = more.kinds.front();
      if (!same_place(unit, more) || (kind == TaskKind::update && !with_update) ||
          std::ranges::find(unit.kinds, kind) != unit.kinds.end()) {
        break;
      }
      unit.kinds.push_back(kind);
      complete(unit, more);
    }
    return unit;
  }

  Run read_run(bool with_update) const {
    Run run{.end = next_};
    run.unit = read_unit(run.end, with_update);
    run.last = run.unit.block;
    run.has_parameters = has_parameters(plan_.network, run.last);
    while (run.end < tasks_.size() && is_of_block(tasks_[run.end])) {
      std::size_t after = run.end;
      if (!extend(run, read_unit(after, with_update))) break;
      run.end = after;
    }
    return run;
  }

  bool extend(Run& run, const Unit& unit) const {
    const bool skips = without_weights(run.unit.kinds).empty();
    const int way = unit.block > run.last ? 1 : -1;
    if (!same_place(run.unit, unit) || (run.direction != 0 && way != run.direction) ||
        !follows(plan_.network, run.last, unit.block, skips)) {
      return false;
    }
    // blocks without parameters have fewer tasks; they join the runs of the others
    const bool has = has_parameters(plan_.network, unit.block);
    if (unit.kinds != run.unit.kinds) {
      const bool fewer = !has && unit.kinds == without_weights(run.unit.kinds);
      const bool more = !run.has_parameters && run.unit.kinds == without_weights(unit.kinds);
      if (!fewer && !more) return false;
      if (more) run.unit.kinds = unit.kinds;
    }
    complete(run.unit, unit);
    run.has_parameters = run.has_parameters || has;
    run.direction = way;
    run.last = unit.block;
    ++run.count;
    return true;
  }

  /// Updates belong to the run where every block has one beside its other tasks.
  void fold_blocks() {
    const Run without = read_run(false);
    const Run with = read_run(true);
    const Run& run = with.count > without.count ? with : without;
    std::string what;
    for (TaskKind kind : run.unit.kinds) {
      what += what.empty() ? "" : ", ";
      what += name_of(kind);
    }
    lines_.push_back({.what = std::move(what),
                      .when = time_text(run.unit.when, run.unit.delay.value_or(0)),
                      .first = run.unit.block,
                      .last = run.last,
                      .blocks = run.count});
    lines_.back().samples = run.unit.samples;
    next_ = run.end;
  }

  void fold_buckets() {
    const Task& task = tasks_[next_++];
    const auto& first = std::get<Reduce>(task.what);
    Reduce next = first;
    ++next.bucket;
    while (next_ < tasks_.size() && tasks_[next_] == Task{task.when, next}) {
      ++next_;
      ++next.bucket;
    }
    std::string when = time_text(task.when);
    if (plan_.groups.size() > 1) when = fmt::format(" over {} workers{}", first.group, when);
    lines_.push_back({.what = std::string(name_of(kind_of(task))),
                      .when = std::move(when),
                      .bucket = first.bucket,
                      .last_bucket = next.bucket - 1});
  }

  const Plan& plan_;
  const std::vector<Task>& tasks_;
  std::size_t next_ = 0;
  std::vector<Line> lines_;
};

}  // namespace

bool follows(const Network& network, int from, int to, bool skips) {
  if (from == to) return false;
  const int step = to > from ? 1 : -1;
  for (int block = from + step; block != to; block += step) {
    if (!skips || has_parameters(network, block)) return false;
  }
  return true;
}

std::vector<Line> fold(const Plan& plan, const std::vector<Task>& tasks) {
  return Folder(plan, tasks).run();
}

}  // namespace plait::plan
