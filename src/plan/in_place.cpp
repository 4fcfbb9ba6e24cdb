// Walks through a program and lets results share memory where nobody reads what they overwrite.
#include "plan/in_place.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace plait::plan {

namespace {

constexpr int kUnchanged = std::numeric_limits<int>::max();

class Sharing {
 public:
  Sharing(const Plan& plan, const Traits& traits, ValueTable& table,
          const std::vector<InPlaceValue>& values)
      : plan_(plan),
        traits_(traits),
        table_(table),
        values_(values),
        home_(values.size()),
        changed_(values.size(), kUnchanged),
        alive_(values.size()) {
    std::iota(home_.begin(), home_.end(), 0);
    for (const InPlaceValue& value : values) travels_.push_back(value.travels);
    for (std::size_t i = 0; i < alive_.size(); ++i) alive_[i] = {static_cast<int>(i)};
  }

  std::vector<int> run(const std::vector<Task>& tasks) {
    find_changes(tasks);
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      position_ = static_cast<int>(i);
      if (const auto* forward = std::get_if<Forward>(&tasks[i].what)) share_result(*forward);
      if (const auto* backward = std::get_if<BackwardData>(&tasks[i].what)) share_diffs(*backward);
    }
    return std::move(home_);
  }

 private:
  static std::size_t at(int index) { return static_cast<std::size_t>(index); }
  const graph::BlockTraits& traits_of(int block) const {
    return traits_.empty() ? plan_.network.blocks[at(block)].traits : traits_[at(block)];
  }

  /// When each value is written for the second time: added to.
  void find_changes(const std::vector<Task>& tasks) {
    std::vector<Access> list;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      const auto* receive = std::get_if<Receive>(&tasks[i].what);
      if (receive != nullptr && !receive->adds) continue;  // written early
      accesses_into(plan_, tasks[i], traits_, list);
      for (const Access& access : list) {
        if (!access.writes || !is_of_tensor(access.value.role)) continue;
        const int number = table_.find(access.value);
        if (number < 0 || table_.use(number).first.position == static_cast<int>(i)) continue;
        changed_[at(number)] = std::min(changed_[at(number)], static_cast<int>(i));
      }
    }
  }

  /// Number of this very value; -1: there is none.
  int number_of(Role role, int index, const Samples& samples) {
    const Value value{.role = role, .index = index, .samples = samples};
    const int number = table_.find(value);
    return number >= 0 && table_.use(number).value == value ? number : -1;
  }

  void share_result(const Forward& task) {
    const NetworkBlock& block = plan_.network.blocks[at(task.block)];
    const graph::BlockTraits& traits = traits_of(task.block);
    if (!traits.forward_in_place && !traits.adds_in_place) return;
    const int src = traits.forward_in_place ? block.srcs.front() : block.srcs.back();
    share(number_of(Role::tensor, src, task.samples),
          number_of(Role::tensor, block.dst, task.samples), true);
  }

  void share_diffs(const BackwardData& task) {
    const Network& network = plan_.network;
    const NetworkBlock& block = network.blocks[at(task.block)];
    const graph::BlockTraits& traits = traits_of(task.block);
    const int diff_dst = number_of(Role::diff, block.dst, task.samples);
    const auto begins = [&](int src) {
      return network.has_gradient(src) && task.makes(src) &&
             !network.adds_gradient(task.block, src);
    };
    for (std::size_t k = 0; k < block.srcs.size(); ++k) {
      const int src = block.srcs[k];
      if (traits.passes(static_cast<int>(k)) && begins(src))
        share(diff_dst, number_of(Role::diff, src, task.samples), false);
    }
    const int src = block.srcs.front();
    if (traits.diff_in_place && begins(src)) {
      share(diff_dst, number_of(Role::diff, src, task.samples), true);
    }
  }

  /// Lets `made`, which the task at position_ writes first, take the memory of `from`, which it
  /// reads: overwriting it, or being the same.
  void share(int from, int made, bool overwrites) {
    if (from < 0 || made < 0 || from == made || home_[at(made)] != made) return;
    const InPlaceValue& value = values_[at(made)];
    const int home = home_[at(from)];
    if (!value.in_step || !values_[at(from)].in_step || value.bytes == 0 ||
        value.bytes != values_[at(from)].bytes || table_.use(made).first.position != position_ ||
        (overwrites && (travels_[at(home)] || value.travels))) {
      return;
    }
    std::vector<int>& alive = alive_[at(home)];
    std::erase_if(alive, [&](int other) { return last(other) < position_; });
    const bool clash = std::ranges::any_of(alive, [&](int other) {
      if (overwrites) return last(other) > position_;
      return last(other) >= changed_[at(made)] ||
             (changed_[at(other)] > position_ && last(made) >= changed_[at(other)]);
    });
    if (clash) return;
    home_[at(made)] = home;
    travels_[at(home)] = travels_[at(home)] || value.travels;
    alive.push_back(made);
  }

  int last(int number) {
    return values_[at(number)].sent ? kUnchanged - 1 : table_.use(number).last.position;
  }

  const Plan& plan_;
  const Traits& traits_;
  ValueTable& table_;
  const std::vector<InPlaceValue>& values_;
  std::vector<int> home_;
  std::vector<bool> travels_;            ///< by home: a value in its memory does
  std::vector<int> changed_;             ///< position of the second write
  std::vector<std::vector<int>> alive_;  ///< by home: the values in its memory that are still read
  int position_ = 0;
};

}  // namespace

std::vector<int> share_in_place(const Plan& plan, int worker, const Traits& traits,
                                ValueTable& table, const std::vector<InPlaceValue>& values) {
  return Sharing(plan, traits, table, values)
      .run(plan.programs.at(static_cast<std::size_t>(worker)).tasks);
}

}  // namespace plait::plan
