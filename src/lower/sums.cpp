// Groups blocks by the workers that compute their gradients or move their statistics.
#include <algorithm>
#include <map>
#include <utility>

#include "lower/graph.hpp"

namespace plait::lower {

namespace {

/// The first and the last item of a worker that work on something of a block.
struct Span {
  int worker = 0;
  int first = 0;
  int last = 0;
  int update = -1;  ///< item that follows from it
};
using Spans = std::vector<std::vector<Span>>;  ///< by block, then by worker

Span& span_of(Spans& spans, int block, int worker) {
  return *std::ranges::lower_bound(spans[static_cast<std::size_t>(block)], worker, {},
                                   &Span::worker);
}

class Summer {
 public:
  explicit Summer(Graph& graph)
      : graph_(graph),
        plan_(graph.schedule.plan),
        network_(plan_.network),
        readers_(network_.blocks.size()),
        gradients_(network_.blocks.size()),
        states_(network_.blocks.size()) {}

  void run() {
    for (int index = 0; index < graph_.listed; ++index) visit(index);
    std::map<std::vector<int>, Shared> shared;
    const std::vector<int> completed = completed_blocks();
    for (const int b : completed) {
      std::vector<int> owners = workers_in(gradients_, b);
      if (owners.size() > 1) {
        shared[std::move(owners)].gradients.push_back(b);
      } else {
        add_update(b, owners.front(), span_of(gradients_, b, owners.front()).last);
        send_weights(b, owners);
      }
    }
    for (const int b : state_blocks(completed)) {
      std::vector<int> movers = workers_in(states_, b);
      if (movers.size() > 1) shared[std::move(movers)].states.push_back(b);
    }
    for (const auto& [workers, blocks] : shared) add_reductions(workers, blocks);
    if (graph_.schedule.clip) add_clips();
  }

 private:
  /// Blocks of the same workers.
  struct Shared {
    std::vector<int> gradients;
    std::vector<int> states;
  };

  const plan::NetworkBlock& block(int index) const {
    return network_.blocks[static_cast<std::size_t>(index)];
  }

  /// Of all replicas.
  std::vector<int> workers_in(const Spans& spans, int b) const {
    std::vector<int> workers;
    for (int r = 0; r < graph_.schedule.replicas; ++r) {
      for (const Span& span : spans[static_cast<std::size_t>(b)]) {
        workers.push_back(r * graph_.schedule.workers() + span.worker);
      }
    }
    return workers;
  }

  int add(const plan::What& what, int worker) {
    graph_.schedule.items.push_back({.task = {.what = what}, .worker = worker});
    return graph_.size() - 1;
  }

  void visit(int index) {
    Item& item = graph_.schedule.item(index);
    if (plan::delay_of(item.task)) {
      std::vector<int>& readers = readers_[home(item.task)];
      if (readers.empty() || readers.back() != item.worker) readers.push_back(item.worker);
    }
    if (const auto* forward = std::get_if<plan::Forward>(&item.task.what)) {
      if (forward->moves_state && block(forward->block).state > 0) extend(states_, index);
    }
    // A worker adds the gradients of a block in the order of the list.
    if (auto* backward = std::get_if<plan::BackwardWeights>(&item.task.what)) {
      const int before = extend(gradients_, index);
      backward->adds = before >= 0;
      if (before >= 0) add_wait(graph_, index, {.item = before});
    }
  }
  std::size_t home(const plan::Task& task) const {
    return static_cast<std::size_t>(network_.home_of(plan::block_of(task)));
  }
  /// The item before in the span; -1: it begins.
  int extend(Spans& spans, int index) const {
    const Item& item = graph_.item(index);
    std::vector<Span>& of = spans[home(item.task)];
    const auto at = std::ranges::lower_bound(of, item.worker, {}, &Span::worker);
    if (at != of.end() && at->worker == item.worker) return std::exchange(at->last, index);
    of.insert(at, {item.worker, index, index});
    return -1;
  }

  /// In the order of the last item that adds to their gradients.
  std::vector<int> completed_blocks() const {
    std::vector<std::pair<int, int>> last;  // item, block
    for (int b = 0; b < network_.size(); ++b) {
      const std::vector<Span>& spans = gradients_[static_cast<std::size_t>(b)];
      if (!spans.empty()) last.emplace_back(std::ranges::max(spans, {}, &Span::last).last, b);
    }
    std::ranges::sort(last);
    std::vector<int> blocks;
    for (const auto& [item, b] : last) blocks.push_back(b);
    return blocks;
  }

  std::vector<int> state_blocks(const std::vector<int>& completed) const {
    std::vector<int> blocks;
    for (int b = 0; b < network_.size(); ++b) {
      if (!states_[static_cast<std::size_t>(b)].empty()) blocks.push_back(b);
    }
    if (graph_.schedule.order == BlockOrder::by_number) return blocks;
    std::vector<std::size_t> rank(network_.blocks.size(), completed.size());
    for (std::size_t i = 0; i < completed.size(); ++i) {
      rank[static_cast<std::size_t>(completed[i])] = i;
    }
    std::ranges::stable_sort(blocks, {}, [&](int b) { return rank[static_cast<std::size_t>(b)]; });
    return blocks;
  }

  void add_update(int b, int worker, int after) {
    const int update = add(plan::Update{b}, worker);
    Span& span = span_of(gradients_, b, worker);
    add_wait(graph_, update, {.item = after});
    add_wait(graph_, span.first, {.item = update, .earlier = 1});
    span.update = update;
  }

  /// From the first owner to every worker that reads but does not update.
  void send_weights(int b, const std::vector<int>& owners) {
    std::vector<int>& readers = readers_[static_cast<std::size_t>(b)];
    std::ranges::sort(readers);
    readers.erase(std::unique(readers.begin(), readers.end()), readers.end());
    for (const int reader : readers) {
      if (std::ranges::binary_search(owners, reader)) continue;
      const int update = span_of(gradients_, b, owners.front()).update;
      const int receive = add(plan::Receive{{.value = {.role = plan::Role::weights, .index = b},
                                             .peer = owners.front()}},
                              reader);
      add_wait(graph_, receive, {.item = update}, 4 * static_cast<double>(block(b).parameters));
      graph_.weight_sends.emplace_back(update, receive);
    }
  }

  void add_reductions(const std::vector<int>& workers, const Shared& blocks) {
    plan_.groups.push_back(workers);
    if (!blocks.states.empty()) {
      add_reduction({.payload = plan::Payload::state, .blocks = blocks.states}, states_);
    }
    for (plan::Bucket& bucket : gradient_buckets(network_, blocks.gradients,
                                                 graph_.schedule.bucket_bytes, plan_.wire_bytes)) {
      add_reduction(std::move(bucket), gradients_);
    }
  }

  /// Of the newest group.
  void add_reduction(plan::Bucket bucket, Spans& ready) {
    const int group = static_cast<int>(plan_.groups.size()) - 1;
    const int number = static_cast<int>(plan_.buckets.size());
    plan_.buckets.push_back(std::move(bucket));
    const plan::Bucket& summed = plan_.buckets.back();
    std::vector<int> workers = plan_.groups.back();
    const double shards = static_cast<double>(plan::bucket_bytes(plan_, summed)) /
                          static_cast<double>(workers.size());
    workers.resize(workers.size() / static_cast<std::size_t>(graph_.schedule.replicas));
    std::vector<int> moves;
    for (const int worker : workers) {
      moves.push_back(add(plan::Reduce{plan::Move::start, group, number}, worker));
      for (const int b : summed.blocks) {
        add_wait(graph_, moves.back(), {.item = span_of(ready, b, worker).last});
      }
    }
    for (const plan::Move then : {plan::Move::sum, plan::Move::finish}) {
      std::vector<int> next;
      for (const int worker : workers) {
        next.push_back(add(plan::Reduce{then, group, number}, worker));
        if (graph_.cost == nullptr) continue;  // so many of them
        for (const int move : moves) add_wait(graph_, next.back(), {.item = move}, shards);
      }
      moves = next;
    }
    if (summed.payload != plan::Payload::gradient) return;
    for (const int b : summed.blocks) {
      for (std::size_t i = 0; i < workers.size(); ++i) add_update(b, workers[i], moves[i]);
      send_weights(b, workers);
    }
  }

  void add_clips() {
    std::vector<bool> updates(plan_.programs.size(), false);
    for (const std::vector<Span>& spans : gradients_) {
      for (const Span& span : spans) updates[static_cast<std::size_t>(span.worker)] = true;
    }
    for (int worker = 0; worker < plan_.workers(); ++worker) {
      if (updates[static_cast<std::size_t>(worker)]) add(plan::Clip{}, worker);
    }
  }

  Graph& graph_;
  plan::Plan& plan_;
  const plan::Network& network_;
  std::vector<std::vector<int>> readers_;  ///< of weights, by block
  Spans gradients_;
  Spans states_;
};

}  // namespace

std::vector<plan::Bucket> gradient_buckets(const plan::Network& network,
                                           const std::vector<int>& blocks,
                                           std::int64_t bucket_bytes, int wire_bytes) {
  std::vector<plan::Bucket> buckets;
  plan::Bucket open{.payload = plan::Payload::gradient, .blocks = {}};
  std::int64_t bytes = 0;
  for (const int block : blocks) {
    const std::int64_t parameters = network.blocks[static_cast<std::size_t>(block)].parameters;
    if (parameters == 0) continue;
    open.blocks.push_back(block);
    bytes += parameters * wire_bytes;
    if (bytes < bucket_bytes) continue;
    buckets.push_back(std::move(open));
    open = {.payload = plan::Payload::gradient, .blocks = {}};
    bytes = 0;
  }
  if (!open.blocks.empty()) buckets.push_back(std::move(open));
  return buckets;
}

void add_sums(Graph& graph) { Summer(graph).run(); }

}  // namespace plait::lower
