// Goes through the listed items, remembers who made each value last, and compares workers.
#include <algorithm>
#include <map>
#include <unordered_map>

#include "lower/graph.hpp"
#include "plan/accesses.hpp"

namespace plait::lower {

namespace {

/// Numbers values that belong to a minibatch: one after the other for each part of it.
class ValueNumbers {
 public:
  explicit ValueNumbers(const plan::Network& network)
      : names_(std::max(network.tensors.size(), network.blocks.size())) {}

  std::size_t operator()(const plan::Value& value) {
    if (of_last_ == parts_.end() || of_last_->first != value.samples) {
      of_last_ = parts_.try_emplace(value.samples, parts_.size()).first;
    }
    return (of_last_->second * kRoles + static_cast<std::size_t>(value.role)) * names_ +
           static_cast<std::size_t>(value.index);
  }

 private:
  static constexpr std::size_t kRoles = static_cast<std::size_t>(plan::Role::weights);
  std::size_t names_;
  std::map<plan::Samples, std::size_t> parts_;
  std::map<plan::Samples, std::size_t>::iterator of_last_ = parts_.end();
};

class Finder {
 public:
  explicit Finder(Graph& graph)
      : graph_(graph),
        data_(plan::accesses(graph.schedule.plan, {.what = plan::Load{}})),
        number_(graph.schedule.plan.network) {
    for (const RowCopy& copy : graph.schedule.copies) {
      origin_[copy.tensor] = &copy;
      copies_[copy.of].push_back(&copy);
    }
  }

  void run() {
    for (int index = 0; index < graph_.listed; ++index) {
      if (plan::is<plan::Load>(graph_.item(index).task)) continue;  // for this worker only
      plan::accesses_into(graph_.schedule.plan, graph_.item(index).task, {}, list_);
      for (const plan::Access& access : list_) {
        if (!access.writes && !plan::is_permanent(access.value.role)) read(access.value, index);
      }
      for (const plan::Access& access : list_) {
        // A gradient with several readers has one maker after the other.
        if (access.writes && !plan::is_permanent(access.value.role)) make(access.value, index);
      }
    }
  }

 private:
  /// What a load writes, whatever the samples.
  bool is_data(const plan::Value& value) const {
    return std::ranges::any_of(data_, [&](const plan::Access& loaded) {
      return loaded.value.role == value.role && loaded.value.index == value.index;
    });
  }
  static plan::Value with_index(plan::Value value, int index) {
    value.index = index;
    return value;
  }

  void make(const plan::Value& value, int item) {
    const std::size_t number = number_(value);
    if (number >= makers_.size()) makers_.resize(number + 1, -1);
    makers_[number] = item;
  }
  /// -1: nobody.
  int maker(const plan::Value& value) {
    const std::size_t number = number_(value);
    return number < makers_.size() ? makers_[number] : -1;
  }

  void read(const plan::Value& value, int user) {
    if (is_data(value)) {
      if (graph_.reads_data.empty() || graph_.reads_data.back() != user) {
        graph_.reads_data.push_back(user);
      }
      return;
    }
    const int made_by = maker(value);
    if (made_by >= 0) deliver({value, value, -1, false, made_by, user});
    if (made_by < 0 && value.role == plan::Role::tensor) read_copy(value, user);
    if (value.role == plan::Role::diff) read_copies_diffs(value, user, made_by >= 0);
  }

  void read_copy(const plan::Value& value, int user) {
    const auto found = origin_.find(value.index);
    if (found == origin_.end()) return;
    const plan::Value whole = with_index(value, found->second->of);
    deliver({whole, value, found->second->list, false, maker(whole), user});
  }

  void read_copies_diffs(const plan::Value& value, int user, bool begun) {
    const auto found = copies_.find(value.index);
    if (found == copies_.end()) return;
    for (const RowCopy* copy : found->second) {
      const plan::Value part = with_index(value, copy->tensor);
      deliver({part, value, copy->list, begun, maker(part), user});
      begun = true;
    }
  }

  void deliver(Delivery delivery) {
    if (delivery.maker < 0) return;
    const int from = graph_.item(delivery.maker).worker;
    const int to = graph_.item(delivery.user).worker;
    if (graph_.cost != nullptr) wait_for(delivery, from != to);
    if (from == to) return;
    graph_.deliveries.push_back(delivery);
  }

  void wait_for(const Delivery& delivery, bool far) {
    if (!far) return add_wait(graph_, delivery.user, {.item = delivery.maker});
    const plan::Task send{.what = plan::Send{{.value = delivery.sent, .list = delivery.list}}};
    add_wait(graph_, delivery.user, {.item = graph_.schedule.sender(delivery.maker)},
             static_cast<double>(plan::wire_bytes(graph_.schedule.plan, 0, send)));
  }

  Graph& graph_;
  std::vector<plan::Access> data_;
  std::vector<plan::Access> list_;
  ValueNumbers number_;
  std::vector<int> makers_;  ///< by number of a value: the last one; -1: nobody
  std::unordered_map<int, const RowCopy*> origin_;  ///< by copy
  std::unordered_map<int, std::vector<const RowCopy*>> copies_;
};

}  // namespace

void find_deliveries(Graph& graph) { Finder(graph).run(); }

}  // namespace plait::lower
