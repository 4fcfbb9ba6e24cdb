// Groups blocks by the workers that compute their gradients or move their statistics, and brings
// the gradients of weights with several users together.
#include <algorithm>
#include <map>
#include <utility>

#include "lower/graph.hpp"
#include "lower/spans.hpp"

namespace plait::lower {

namespace {

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
    const std::vector<int> completed = blocks_by_end(gradients_);
    find_users();
    for (const int b : completed) {
      if (added_where_made(b)) continue;
      std::vector<int> owners = workers_in(gradients_, b);
      if (owners.size() > 1) {
        shared[std::move(owners)].gradients.push_back(b);
      } else {
        complete(b, owners, {span_of(gradients_, b, owners.front()).last});
      }
    }
    for (const int b : blocks_in(states_)) {
      std::vector<int> movers = workers_in(states_, b);
      if (movers.size() > 1) shared[std::move(movers)].states.push_back(b);
    }
    for (const auto& [workers, blocks] : shared) add_reductions(workers, blocks);
    for (const int owner : graph_.apart) bring_together(owner);
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
      for (const int w : workers_of(spans, b)) workers.push_back(r * graph_.schedule.workers() + w);
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
      std::vector<int>& readers =
          readers_[static_cast<std::size_t>(network_.owner_of(plan::block_of(item.task)))];
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

  std::vector<int> makers(int b) const { return workers_of(gradients_, b); }

  /// Every block that uses the weights of another one has a gradient of its own, over all
  /// microbatches; in the order of the network they are added to the owner's. Where all of them are
  /// made by the same workers each adds them up as soon as they are there, and one sum is reduced.
  /// Otherwise each is reduced, and sent where the owner's is.
  void find_users() {
    for (int b = 0; b < network_.size(); ++b) {
      if (network_.is_tied(b)) users_[network_.owner_of(b)].push_back(b);
    }
    for (const auto& [owner, users] : users_) {
      const std::vector<int> workers = makers(owner);
      if (!std::ranges::all_of(users, [&](int user) { return makers(user) == workers; })) {
        graph_.apart.push_back(owner);
        continue;
      }
      for (const int worker : workers) {
        for (const int user : users) {
          Span& sum = span_of(gradients_, owner, worker);
          sum.last = add_gradient(user, worker, span_of(gradients_, user, worker).last, sum.last);
        }
      }
    }
  }

  bool is_apart(int owner) const {
    return std::ranges::find(graph_.apart, owner) != graph_.apart.end();
  }
  /// Whether its gradient is part of another one's already.
  bool added_where_made(int b) const {
    return network_.is_tied(b) && !is_apart(network_.owner_of(b));
  }

  /// `made` and `sum`: what completes the user's gradient and the owner's so far, on this worker.
  int add_gradient(int user, int worker, int made, int sum) {
    const int added = add(plan::AddGradient{user}, worker);
    add_wait(graph_, added, {.item = made});
    add_wait(graph_, added, {.item = sum});
    const Span* own = find_span(gradients_, user, worker);  // there is one array
    add_wait(graph_, own != nullptr ? own->first : made, {.item = added, .earlier = 1});
    return added;
  }

  void bring_together(int owner) {
    const std::vector<int> workers = makers(owner);
    for (const int worker : workers) {
      int sum = span_of(gradients_, owner, worker).complete;
      for (const int user : users_.at(owner)) {
        const Span* here = find_span(gradients_, user, worker);
        const int made = here != nullptr ? here->complete : receive_gradient(user, worker);
        sum = add_gradient(user, worker, made, sum);
      }
      add_update(owner, worker, sum);
    }
    send_weights(owner, workers);
  }

  int receive_gradient(int user, int worker) {
    const Span& from = gradients_[static_cast<std::size_t>(user)].front();
    const plan::Value gradient{.role = plan::Role::gradient, .index = user};
    const int receive = add(plan::Receive{{.value = gradient, .peer = from.worker}}, worker);
    add_wait(graph_, receive, {.item = from.complete},
             4 * static_cast<double>(block(user).parameters));
    graph_.parameter_sends.emplace_back(from.complete, receive);
    return receive;
  }

  /// The gradient is complete on each of these workers behind an item.
  void complete(int b, const std::vector<int>& workers, const std::vector<int>& behind) {
    const bool later = is_apart(network_.owner_of(b));
    for (std::size_t i = 0; i < workers.size(); ++i) {
      Span& span = span_of(gradients_, b, workers[i]);
      span.complete = behind[i];
      if (!later) add_update(b, workers[i], behind[i]);
      // There is one array: the next minibatch's gradient begins when this one has been summed.
      if (later) add_wait(graph_, span.first, {.item = behind[i], .earlier = 1});
    }
    if (!later) send_weights(b, workers);
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
      graph_.parameter_sends.emplace_back(update, receive);
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
    for (const int b : summed.blocks) complete(b, workers, moves);
  }

  void add_clips() {
    std::vector<bool> updates(plan_.programs.size(), false);
    for (const std::vector<Span>& spans : gradients_) {
      for (const Span& span : spans) {
        if (span.update >= 0) updates[static_cast<std::size_t>(span.worker)] = true;
      }
    }
    for (int worker = 0; worker < plan_.workers(); ++worker) {
      if (updates[static_cast<std::size_t>(worker)]) add(plan::Clip{}, worker);
    }
  }

  Graph& graph_;
  plan::Plan& plan_;
  const plan::Network& network_;
  std::vector<std::vector<int>> readers_;  ///< of weights, by block
  std::map<int, std::vector<int>> users_;  ///< of weights, by owner, beside itself
  Spans gradients_;
  Spans states_;
};

}  // namespace

void add_sums(Graph& graph) { Summer(graph).run(); }

}  // namespace plait::lower
