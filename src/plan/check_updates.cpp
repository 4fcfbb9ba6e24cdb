// Gradients are complete before they are summed, clipped and used, and used once: backward_weights
// -> reduce_start, _sum, _finish -> clip -> update, for every block of every worker. And running
// statistics move once.
#include <fmt/format.h>

#include <algorithm>

#include "plan/check_parts.hpp"

namespace plait::planning {

namespace {

constexpr Moment kNever{-1, -1};

/// What one program does with one block's gradient.
struct Life {
  Moment first = kNever;  ///< backward_weights
  Moment last = kNever;
  Moment start = kNever;   ///< the first reduce_start
  Moment finish = kNever;  ///< the last reduce_finish
  Moment update = kNever;
  int begun = 0;             ///< backward_weights that do not accumulate
  std::vector<int> moved{};  ///< sets of running statistics that forwards have moved
};

void keep_first(Moment& kept, const Moment& moment) {
  if (kept == kNever || moment < kept) kept = moment;
}

/// One worker at a time.
class UpdateCheck {
 public:
  UpdateCheck(const Plan& plan, FaultList& faults)
      : plan_(plan), faults_(faults), lives_(plan.network.blocks.size()) {}

  void run(int worker) {
    worker_ = worker;
    std::ranges::fill(lives_, Life{});
    clips_.clear();
    const std::vector<Task>& tasks = plan_.programs[static_cast<std::size_t>(worker)].tasks;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      note(tasks[i], {tasks[i].offset, static_cast<int>(i)});
    }
    for (int block = 0; block < plan_.network.size(); ++block) {
      if (plan_.network.blocks[static_cast<std::size_t>(block)].parameters > 0) check(block);
    }
  }

 private:
  void note(const Task& task, const Moment& moment) {
    switch (task.kind) {
      case TaskKind::forward:
        if (plan_.network.blocks[static_cast<std::size_t>(task.block)].state == 0) break;
        if (!task.accumulate && moves_again(task)) {
          faults_.add(worker_, moment.position,
                      "moves the running statistics a second time for one minibatch; all "
                      "microbatches but the first must accumulate");
        }
        break;
      case TaskKind::backward_weights: {
        Life& of = life(home(task));
        keep_first(of.first, moment);
        of.last = std::max(of.last, moment);
        if (!task.accumulate) ++of.begun;
        break;
      }
      case TaskKind::update:
        if (life(task.block).update != kNever) {
          faults_.add(worker_, moment.position, "the block is updated twice in a step");
        }
        life(task.block).update = moment;
        break;
      case TaskKind::clip: clips_.push_back(moment); break;
      case TaskKind::reduce_start:
      case TaskKind::reduce_finish: {
        const Bucket& bucket = plan_.buckets[static_cast<std::size_t>(task.bucket)];
        if (bucket.payload != Payload::gradient) break;
        for (int block : bucket.blocks) {
          Life& of = life(block);
          if (task.kind == TaskKind::reduce_start) {
            keep_first(of.start, moment);
          } else {
            of.finish = std::max(of.finish, moment);
          }
        }
        break;
      }
      default: break;
    }
  }

  /// Notes that the task moves running statistics; whether another one has done so before.
  bool moves_again(const Task& task) {
    std::vector<int>& moved = life(home(task)).moved;
    const int set = plan_.network.blocks[static_cast<std::size_t>(task.block)].state_set;
    if (std::ranges::find(moved, set) != moved.end()) return true;
    moved.push_back(set);
    return false;
  }

  void check(int block) {
    const Life& of = life(block);
    const std::string& name = plan_.network.blocks[static_cast<std::size_t>(block)].name;
    if (of.first != kNever) {
      if (of.update == kNever) {
        add(of.last, fmt::format("makes a gradient of {}, which this worker never updates", name));
      }
      check_accumulation(of, name);
    }
    if (of.start != kNever && of.start < of.last) {
      add(of.start, fmt::format("sums the gradient of {} before {} has completed it", name,
                                task_text(of.last)));
    }
    if (of.update == kNever) return;
    const Moment complete = std::max(of.last, of.finish);
    if (of.update < complete) {
      add(of.update,
          fmt::format("comes before {} has completed the gradient", task_text(complete)));
    }
    for (const Moment& clip : clips_) {
      if (clip < complete) {
        add(clip, fmt::format("comes before {} has completed a gradient", task_text(complete)));
      } else if (of.update < clip) {
        add(clip, fmt::format("comes after {}", task_text(of.update)));
      }
    }
  }

  /// The first microbatch begins the gradient, every other one adds to it.
  void check_accumulation(const Life& of, const std::string& name) {
    if (faults_.task(worker_, of.first.position).accumulate) {
      add(of.first, fmt::format("adds to a gradient of {} that nothing has begun", name));
    }
    if (of.begun > 1) {
      add(of.last, fmt::format("a microbatch overwrites the gradient of {}; all but the first of "
                               "{} must accumulate",
                               name, of.begun));
    }
  }

  void add(const Moment& at, const std::string& what) { faults_.add(worker_, at.position, what); }
  std::string task_text(const Moment& at) const {
    return fmt::format("{} (task {})", describe(plan_, faults_.task(worker_, at.position)),
                       at.position);
  }
  int home(const Task& task) const { return plan_.network.home_of(task.block); }
  Life& life(int block) { return lives_[static_cast<std::size_t>(block)]; }

  const Plan& plan_;
  FaultList& faults_;
  int worker_ = 0;
  std::vector<Life> lives_;
  std::vector<Moment> clips_;
};

/// A block whose gradient is asked for anywhere is updated somewhere.
void check_nobody_forgotten(const Plan& plan, FaultList& faults) {
  std::vector<bool> wanted(plan.network.blocks.size(), false);
  for (const Program& program : plan.programs) {
    for (const Task& task : program.tasks) {
      if (task.kind != TaskKind::backward_data) continue;
      wanted[static_cast<std::size_t>(plan.network.home_of(task.block))] = true;
    }
  }
  const std::vector<int> owner = owners(plan);
  for (std::size_t block = 0; block < wanted.size(); ++block) {
    const NetworkBlock& of = plan.network.blocks[block];
    if (wanted[block] && of.parameters > 0 && owner[block] < 0) {
      faults.add(fmt::format("no worker updates block {}", of.name));
    }
  }
}

/// The losses of all workers together are taken of the whole minibatch.
void check_nobody_unseen(const Plan& plan, FaultList& faults) {
  std::vector<Samples> parts;
  for (const Program& program : plan.programs) {
    for (const Task& task : program.tasks) {
      if (task.kind == TaskKind::loss) parts.push_back(task.samples);
    }
  }
  if (parts.empty()) return;
  std::ranges::sort(parts, {}, [&](const Samples& part) { return part.first(plan.batch); });
  std::int64_t seen = 0;
  for (const Samples& part : parts) {
    if (part.first(plan.batch) > seen) break;
    seen = std::max(seen, part.last(plan.batch));
  }
  if (seen < plan.batch) {
    faults.add(fmt::format("no worker takes the loss of sample {} of {}", seen, plan.batch));
  }
}

}  // namespace

void check_updates(const Plan& plan, FaultList& faults) {
  UpdateCheck check(plan, faults);
  for (int worker = 0; worker < plan.workers(); ++worker) check.run(worker);
  check_nobody_forgotten(plan, faults);
  check_nobody_unseen(plan, faults);
}

}  // namespace plait::planning
