// Gradients are complete before they are summed, clipped and used, and used once: backward_weights
// -> add_gradient -> reduce_start, _sum, _finish -> clip -> update, for every block of every
// worker. And running statistics move once.
#include <fmt/format.h>

#include <algorithm>

#include "base/overloaded.hpp"
#include "plan/check_parts.hpp"

namespace plait::plan {

namespace {

constexpr Moment kNever{-1, -1};

/// What one program does with one block's gradient.
struct Life {
  Moment first = kNever;  ///< of what makes it
  Moment last = kNever;
  Moment first_added = kNever;  ///< of what others make with its weights
  Moment last_added = kNever;
  Moment start = kNever;   ///< the first reduce_start
  Moment finish = kNever;  ///< the last reduce_finish
  Moment update = kNever;  ///< or what first takes the gradient to another block's
  bool is_added = false;   ///< to that
  int begun = 0;           ///< makers that do not accumulate
  bool begins_by_adding = false;
  std::vector<int> moved{};  ///< sets of running statistics that forwards have moved
};

void keep_first(Moment& kept, const Moment& moment) {
  if (kept == kNever || moment < kept) kept = moment;
}

/// One worker at a time.
class UpdateCheck {
 public:
  UpdateCheck(const Plan& plan, int mode, FaultList& faults)
      : plan_(plan), mode_(mode), faults_(faults), lives_(plan.network.blocks.size()) {}

  void run(int worker) {
    worker_ = worker;
    std::ranges::fill(lives_, Life{});
    clips_.clear();
    const std::vector<Task>& tasks = plan_.programs[static_cast<std::size_t>(worker)].tasks;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      if (runs_in(tasks[i].when, mode_))
        note(tasks[i], {tasks[i].when.offset, static_cast<int>(i)});
    }
    for (int block = 0; block < plan_.network.size(); ++block) {
      if (plan_.network.blocks[static_cast<std::size_t>(block)].parameters > 0) check(block);
    }
  }

 private:
  void note(const Task& task, const Moment& moment) {
    std::visit(
        overloaded{[&](const Forward& forward) { note_forward(forward, moment); },
                   [&](const BackwardWeights& backward) {
                     note_made(plan_.network.home_of(backward.block), backward.adds, moment);
                   },
                   [&](const AddGradient& add) {
                     note_added(add.block, moment);
                     Life& of = life(plan_.network.owner_of(add.block));
                     keep_first(of.first_added, moment);
                     of.last_added = std::max(of.last_added, moment);
                   },
                   [&](const Send& send) {
                     const Value& value = send.message.value;
                     if (value.role == Role::gradient) keep_first(life(value.index).update, moment);
                   },
                   [&](const Receive& receive) {
                     const Value& value = receive.message.value;
                     if (value.role == Role::gradient) note_made(value.index, false, moment);
                   },
                   [&](const Update& update) {
                     if (life(update.block).update != kNever) {
                       faults_.add(worker_, moment.position,
                                   "the block is updated twice in a step");
                     }
                     life(update.block).update = moment;
                   },
                   [&](const Clip&) { clips_.push_back(moment); },
                   [&](const Reduce& reduce) { note_reduce(reduce, moment); }, [](const auto&) {}},
        task.what);
  }

  void note_made(int block, bool adds, const Moment& moment) {
    Life& of = life(block);
    keep_first(of.first, moment);
    of.last = std::max(of.last, moment);
    if (!adds) ++of.begun;
    if (of.first == moment) of.begins_by_adding = adds;
  }
  void note_added(int block, const Moment& moment) {
    Life& of = life(block);
    if (of.is_added) faults_.add(worker_, moment.position, "the gradient is added twice in a step");
    of.is_added = true;
    keep_first(of.update, moment);
  }

  void note_reduce(const Reduce& reduce, const Moment& moment) {
    const Bucket& bucket = plan_.buckets[static_cast<std::size_t>(reduce.bucket)];
    if (bucket.payload != Payload::gradient) return;
    for (int block : bucket.blocks) {
      Life& of = life(block);
      if (reduce.move == Move::start) keep_first(of.start, moment);
      if (reduce.move == Move::finish) of.finish = std::max(of.finish, moment);
    }
  }

  /// A set of running statistics moves once.
  void note_forward(const Forward& forward, const Moment& moment) {
    const NetworkBlock& block = plan_.network.blocks[static_cast<std::size_t>(forward.block)];
    if (block.state == 0 || !forward.moves_state) return;
    std::vector<int>& moved = life(plan_.network.home_of(forward.block)).moved;
    if (std::ranges::find(moved, block.state_set) == moved.end()) {
      moved.push_back(block.state_set);
      return;
    }
    faults_.add(worker_, moment.position,
                "moves the running statistics a second time for one minibatch; only the first "
                "microbatch may");
  }

  void check(int block) {
    const Life& of = life(block);
    const std::string& name = plan_.network.blocks[static_cast<std::size_t>(block)].name;
    const bool tied = plan_.network.is_tied(block);
    if (of.first != kNever) {
      // Of a tied block's gradient that several workers have summed, one of them is enough.
      if (of.update == kNever && !(tied && of.finish != kNever)) {
        add(of.last, fmt::format("makes a gradient of {}, which this worker never {}", name,
                                 tied ? "adds to its owner's" : "updates"));
      }
      check_accumulation(of, name);
    }
    check_added(of, name);
    if (of.start != kNever && of.start < of.last) {
      add(of.start, fmt::format("sums the gradient of {} before {} has completed it", name,
                                task_text(of.last)));
    }
    if (of.update == kNever) return;
    const Moment complete = std::max({of.last, of.last_added, of.finish});
    if (of.update < complete) {
      add(of.update,
          fmt::format("comes before {} has completed the gradient", task_text(complete)));
    }
    for (const Moment& clip : clips_) {
      if (clip < complete) {
        add(clip, fmt::format("comes before {} has completed a gradient", task_text(complete)));
      } else if (of.update < clip && !tied) {
        add(clip, fmt::format("comes after {}", task_text(of.update)));
      }
    }
  }

  /// To a gradient that is complete, either before or behind all its reductions.
  void check_added(const Life& of, const std::string& name) {
    if (of.first_added == kNever) return;
    if (of.first == kNever || of.first_added < of.last) {
      add(of.first_added, fmt::format("adds to a gradient of {} that is not complete", name));
    }
    const bool before = of.start == kNever || of.last_added < of.start;
    if (!before && of.first_added < of.finish) {
      add(of.first_added, fmt::format("adds to the gradient of {} while it is summed", name));
    }
  }

  /// The first microbatch begins the gradient, every other one adds to it.
  void check_accumulation(const Life& of, const std::string& name) {
    if (of.begins_by_adding) {
      add(of.first, fmt::format("adds to a gradient of {} that nothing has begun", name));
    }
    if (of.begun > 1) {
      add(of.last, fmt::format("a microbatch overwrites the gradient of {}; all but the first of "
                               "{} must add",
                               name, of.begun));
    }
  }

  void add(const Moment& at, const std::string& what) { faults_.add(worker_, at.position, what); }
  std::string task_text(const Moment& at) const {
    return fmt::format("{} (task {})", describe(plan_, faults_.task(worker_, at.position)),
                       at.position);
  }
  Life& life(int block) { return lives_[static_cast<std::size_t>(block)]; }

  const Plan& plan_;
  int mode_;
  FaultList& faults_;
  int worker_ = 0;
  std::vector<Life> lives_;
  std::vector<Moment> clips_;
};

}  // namespace

void check_updates(const Plan& plan, int mode, FaultList& faults) {
  UpdateCheck check(plan, mode, faults);
  faults.each_worker([&](int worker) { check.run(worker); });
}

}  // namespace plait::plan
