// Puts the three moves of each bucket between the items of a worker, overlapped.
#include <algorithm>
#include <map>

#include "lower/lower.hpp"
#include "lower/overlap.hpp"

namespace plait::lower {

namespace {

/// One worker's items.
class WorkerOrder {
 public:
  WorkerOrder(Graph& graph, const std::vector<int>& items) : graph_(graph) {
    for (const int item : items) sort_in(item);
    if (clip_.empty()) update_at_once();
    std::ranges::stable_sort(updates_, {}, [&](int item) { return plan::block_of(task(item)); });
  }

  std::vector<OrderedItem> run() {
    std::vector<OverlappedSums> sums;
    for (const auto& [group, buckets] : groups_) {
      sums.emplace_back(graph_.schedule.plan, buckets.front(), buckets.back() + 1,
                        [this](plan::Move move, int bucket) { append(move, bucket); });
    }
    const int state_ready = last_forward();
    const std::map<int, int> completes = last_gradients();
    for (const int item : listed_) {
      ordered_.push_back({item});
      const auto completed = completes.find(item);
      if (completed != completes.end()) append_added(completed->second, false);
      for (OverlappedSums& of : sums) {
        if (item == state_ready) of.state_ready();
        if (completed != completes.end()) of.block_ready(completed->second);
      }
      const int last = ordered_.back().item;
      if (last != item) graph_.schedule.item(item).sent_behind = last;
    }
    for (OverlappedSums& of : sums) of.drain();
    for (const auto& [block, items] : added_) append_added(block, true);
    for (const int item : clip_) ordered_.push_back({item});
    for (const int item : updates_) ordered_.push_back({item});
    return std::move(ordered_);
  }

 private:
  const plan::Task& task(int item) const { return graph_.item(item).task; }

  void sort_in(int item) {
    if (item < graph_.listed) {
      listed_.push_back(item);
    } else if (const auto* reduce = std::get_if<plan::Reduce>(&task(item).what)) {
      moves_[{reduce->bucket, reduce->move}].push_back(item);
      if (reduce->move == plan::Move::start) groups_[reduce->group].push_back(reduce->bucket);
    } else if (plan::is<plan::AddGradient>(task(item)) || plan::makes_gradient(task(item))) {
      added_[owner(item)].push_back(item);
    } else if (plan::is<plan::Clip>(task(item))) {
      clip_.push_back(item);
    } else {
      updates_.push_back(item);
    }
  }

  int owner(int item) const {
    return graph_.schedule.plan.network.owner_of(plan::block_of(task(item)));
  }

  bool is_apart(int block) const {
    return std::ranges::find(graph_.apart, block) != graph_.apart.end();
  }

  /// What brings the gradients of the users of a block's weights together; behind the reductions
  /// where that waits for other workers.
  void append_added(int block, bool behind_reductions) {
    const auto found = added_.find(block);
    if (found == added_.end() || is_apart(block) != behind_reductions) return;
    for (const int item : found->second) ordered_.push_back({item});
  }

  /// Updates of blocks whose gradients are summed follow the end of the sum; the others stay last.
  void update_at_once() {
    std::map<int, std::vector<int>*> finish;  // by block
    for (auto& [move, items] : moves_) {
      const plan::Bucket& bucket =
          graph_.schedule.plan.buckets[static_cast<std::size_t>(move.first)];
      if (move.second != plan::Move::finish || bucket.payload != plan::Payload::gradient) continue;
      for (const int block : bucket.blocks) finish[block] = &items;
    }
    std::erase_if(updates_, [&](int item) {
      const auto found = finish.find(plan::block_of(task(item)));
      if (found == finish.end() || is_apart(found->first)) return false;
      found->second->push_back(item);
      return true;
    });
  }

  void append(plan::Move move, int bucket) {
    for (const int item : moves_.at({bucket, move})) ordered_.push_back({item});
  }

  /// Or the loss behind it: all running statistics are there.
  int last_forward() const {
    int last = -1;
    for (const int item : listed_) {
      if (plan::is<plan::Forward>(task(item)) || plan::is<plan::Loss>(task(item))) last = item;
    }
    return last;
  }

  /// The items that complete a gradient, with its block.
  std::map<int, int> last_gradients() const {
    std::map<int, int> last;  // by block
    for (const int item : listed_) {
      if (!plan::is<plan::BackwardWeights>(task(item))) continue;
      const int of = owner(item);
      last[is_apart(of) ? graph_.schedule.plan.network.home_of(plan::block_of(task(item))) : of] =
          item;
    }
    std::map<int, int> completes;
    for (const auto& [block, item] : last) completes[item] = block;
    return completes;
  }

  Graph& graph_;
  std::vector<int> listed_;
  std::map<int, std::vector<int>> groups_;  ///< buckets, consecutive
  /// By bucket and move: its item, and the updates behind it.
  std::map<std::pair<int, plan::Move>, std::vector<int>> moves_;
  std::map<int, std::vector<int>> added_;  ///< by owner of the weights
  std::vector<int> clip_;
  std::vector<int> updates_;
  std::vector<OrderedItem> ordered_;
};

}  // namespace

Order in_order(Graph& graph) {
  std::vector<std::vector<int>> items(static_cast<std::size_t>(graph.schedule.workers()));
  for (int item = 0; item < graph.size(); ++item) {
    items[static_cast<std::size_t>(graph.item(item).worker)].push_back(item);
  }
  Order order;
  for (const std::vector<int>& of : items) order.push_back(WorkerOrder(graph, of).run());
  return order;
}

}  // namespace plait::lower
