// Makes the jobs of a minibatch and the edges between them, with the bytes that travel along each.
#include "strategy/pipeline/jobs.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace plait::strategy::pipeline {

namespace {

class Builder {
 public:
  Builder(const PlanRequest& request, const Placement& placement, const JobOptions& options)
      : request_(request), network_(request.network), placement_(placement), options_(options) {
    plan_.network = network_;
    plan_.batch = request.batch;
    plan_.wire_bytes = request.wire_bytes;
    graph_.workers = request.machine.workers();
    graph_.microbatches = placement.microbatches();
  }

  JobGraph run() {
    for (int k = 0; k < graph_.microbatches; ++k) add_microbatch(k);
    order_gradients();
    add_updates();
    return std::move(graph_);
  }

 private:
  using Key = std::tuple<plan::Role, int, int>;  ///< role, index, microbatch

  const plan::NetworkBlock& block(int index) const {
    return network_.blocks[static_cast<std::size_t>(index)];
  }
  Job& job(int index) { return graph_.jobs[static_cast<std::size_t>(index)]; }

  double seconds_of(const plan::Task& task) const {
    const int busy = std::min(graph_.workers, request_.machine.workers_per_node);
    return cost::task_seconds(*request_.cost, plan_, task, busy);
  }

  int add(const plan::What& what, int worker, int microbatch) {
    const plan::Task task{.what = what};
    const double seconds = seconds_of(task);
    graph_.jobs.push_back(
        {.task = task, .worker = worker, .microbatch = microbatch, .seconds = seconds});
    return static_cast<int>(graph_.jobs.size()) - 1;
  }

  void add_microbatch(int k) {
    const plan::Samples samples = plan::part_of(k, graph_.microbatches);
    const auto add_pass = [&](const plan::What& what, Pass3 pass, int b) {
      const int index = add(what, placement_.worker(pass, b, k), k);
      connect(index);  // a gradient with several readers has one maker after the other
      note_writes(index);
    };
    for (int b = 0; b < network_.size(); ++b) {
      add_pass(plan::Forward{.block = b, .samples = samples, .moves_state = k == 0}, Pass3::forward,
               b);
    }
    add_pass(plan::Loss{samples}, Pass3::forward, network_.size() - 1);
    for (int b = network_.size(); b-- > 0;) {
      if (!network_.has_backward(b)) continue;
      add_pass(plan::BackwardData{.block = b, .samples = samples}, Pass3::backward_data, b);
      if (block(b).parameters == 0) continue;
      const int data = static_cast<int>(graph_.jobs.size()) - 1;
      add_pass(plan::BackwardWeights{.block = b, .samples = samples}, Pass3::backward_weights, b);
      // They need not, but endless loops are shorter where the gradient that others wait for comes
      // first (measured on random networks).
      const bool ordered = options_.fused || request_.pipeline.asynchronous;
      if (ordered) graph_.jobs.back().after.push_back({.job = data});
    }
  }

  void note_writes(int index) {
    plan::accesses_into(plan_, job(index).task, {}, list_);
    for (const plan::Access& access : list_) {
      if (!access.writes || plan::is_permanent(access.value.role)) continue;
      maker_[key(access.value, job(index).microbatch)] = index;
    }
  }

  static Key key(const plan::Value& value, int microbatch) {
    return {value.role, value.index, microbatch};
  }

  double message_seconds(int from, int to, double bytes) const {
    if (from == to) return 0;
    const plan::Link& link = request_.machine.link(from, to);
    return link.latency_seconds + (link.bytes_per_second > 0 ? bytes / link.bytes_per_second : 0.0);
  }

  double bytes_of(const plan::Value& value) const {
    return static_cast<double>(plan::wire_bytes(plan_, 0, {.what = plan::Send{{.value = value}}}));
  }

  /// Waits for the makers of everything it reads.
  void connect(int index) {
    Job& user = job(index);
    plan::accesses_into(plan_, user.task, {}, list_);
    for (const plan::Access& access : list_) {
      const plan::Value& value = access.value;
      if (access.writes || plan::is_permanent(value.role)) continue;
      const auto found = maker_.find(key(value, user.microbatch));
      if (found == maker_.end()) continue;  // loaded where it is needed
      int maker = found->second;
      const bool far = job(maker).worker != user.worker;
      if (far) graph_.deliveries.push_back({value, maker, index});
      if (far && options_.fused && value.role == plan::Role::diff) maker = after_weights(maker);
      user.after.push_back(
          {.job = maker,
           .seconds = message_seconds(job(maker).worker, user.worker, far ? bytes_of(value) : 0)});
    }
  }

  /// The backward_weights that belongs to a backward_data, if it has one.
  int after_weights(int maker) const {
    const auto next = static_cast<std::size_t>(maker) + 1;
    if (next >= graph_.jobs.size()) return maker;
    const plan::Task& made = graph_.jobs[static_cast<std::size_t>(maker)].task;
    const plan::Task& task = graph_.jobs[next].task;
    const bool belongs = plan::is<plan::BackwardData>(made) &&
                         plan::is<plan::BackwardWeights>(task) &&
                         plan::block_of(task) == plan::block_of(made);
    return belongs ? maker + 1 : maker;
  }

  /// A worker adds the gradients of a block in the order of the microbatches.
  void order_gradients() {
    std::map<std::pair<int, int>, int> latest;  // block, worker -> job
    for (std::size_t i = 0; i < graph_.jobs.size(); ++i) {
      Job& one = graph_.jobs[i];
      auto* backward = std::get_if<plan::BackwardWeights>(&one.task.what);
      if (backward == nullptr) continue;
      const auto [place, is_first] =
          latest.try_emplace({backward->block, one.worker}, static_cast<int>(i));
      backward->adds = !is_first;
      if (is_first) {
        first_gradient_[{backward->block, one.worker}] = static_cast<int>(i);
      } else {
        one.after.push_back({.job = place->second});
        place->second = static_cast<int>(i);
      }
    }
    last_gradient_ = std::move(latest);
  }

  void add_updates() {
    std::map<std::vector<int>, std::vector<int>> shared;  // workers -> blocks, from the last
    for (int b = network_.size(); b-- > 0;) {
      if (block(b).parameters == 0) continue;
      const std::vector<int> owners = workers_of(b, {Pass3::backward_weights});
      if (owners.size() > 1) {
        shared[owners].push_back(b);
      } else {
        add_update(b, owners.front(), last_gradient_.at({b, owners.front()}));
        send_weights(b, owners);
      }
    }
    for (const auto& [owners, blocks] : shared) add_reductions(owners, blocks);
  }

  std::vector<int> workers_of(int b, std::initializer_list<Pass3> passes) const {
    std::set<int> workers;
    for (int k = 0; k < graph_.microbatches; ++k) {
      for (const Pass3 pass : passes) workers.insert(placement_.worker(pass, b, k));
    }
    return {workers.begin(), workers.end()};
  }

  void add_update(int b, int worker, int after) {
    const int update = add(plan::Update{b}, worker, graph_.microbatches - 1);
    job(update).after.push_back({.job = after});
    job(first_gradient_.at({b, worker})).after.push_back({.job = update, .earlier = 1});
    update_[{b, worker}] = update;
  }

  /// From the first owner to everybody who reads but does not update.
  void send_weights(int b, const std::vector<int>& owners) {
    for (const int reader : workers_of(b, {Pass3::forward, Pass3::backward_data})) {
      if (std::ranges::binary_search(owners, reader)) continue;
      const int update = update_.at({b, owners.front()});
      const plan::Message weights{.value = {.role = plan::Role::weights, .index = b},
                                  .peer = owners.front()};
      const int receive = add(plan::Receive{weights}, reader, graph_.microbatches - 1);
      job(receive).after.push_back(
          {.job = update,
           .seconds = message_seconds(owners.front(), reader,
                                      4 * static_cast<double>(block(b).parameters))});
    }
  }

  /// Buckets of blocks that the same workers share.
  void add_reductions(const std::vector<int>& owners, const std::vector<int>& blocks) {
    const int group = static_cast<int>(graph_.groups.size());
    graph_.groups.push_back(owners);
    std::int64_t bytes = 0;
    plan::Bucket bucket{};
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      bucket.blocks.push_back(blocks[i]);
      bytes += block(blocks[i]).parameters * request_.wire_bytes;
      if (bytes < request_.bucket_bytes && i + 1 < blocks.size()) continue;
      add_reduction(group, bucket);
      bucket = {};
      bytes = 0;
    }
  }

  void add_reduction(int group, const plan::Bucket& bucket) {
    const std::vector<int>& owners = graph_.groups[static_cast<std::size_t>(group)];
    const int number = static_cast<int>(graph_.buckets.size());
    graph_.buckets.push_back(bucket);
    double bytes = 0;
    for (const int b : bucket.blocks) {
      bytes += static_cast<double>(block(b).parameters) * request_.wire_bytes;
    }
    const double shards = bytes / static_cast<double>(owners.size());
    const auto add_move = [&](plan::Move move, int worker) {
      return add(plan::Reduce{move, group, number}, worker, graph_.microbatches - 1);
    };
    std::vector<int> moves;
    for (const int worker : owners) {
      moves.push_back(add_move(plan::Move::start, worker));
      for (const int b : bucket.blocks) {
        job(moves.back()).after.push_back({.job = last_gradient_.at({b, worker})});
      }
    }
    for (const plan::Move then : {plan::Move::sum, plan::Move::finish}) {
      std::vector<int> next;
      for (const int worker : owners) {
        next.push_back(add_move(then, worker));
        for (const int move : moves) {
          job(next.back())
              .after.push_back(
                  {.job = move, .seconds = message_seconds(job(move).worker, worker, shards)});
        }
      }
      moves = next;
    }
    for (const int b : bucket.blocks) {
      for (std::size_t i = 0; i < owners.size(); ++i) add_update(b, owners[i], moves[i]);
      send_weights(b, owners);
    }
  }

  const PlanRequest& request_;
  const plan::Network& network_;
  const Placement& placement_;
  JobOptions options_;
  plan::Plan plan_;  ///< for accesses, bytes and seconds
  JobGraph graph_;
  std::map<Key, int> maker_;
  std::map<std::pair<int, int>, int> first_gradient_;  ///< by block and worker
  std::map<std::pair<int, int>, int> last_gradient_;
  std::map<std::pair<int, int>, int> update_;
  std::vector<plan::Access> list_;
};

}  // namespace

JobGraph make_jobs(const PlanRequest& request, const Placement& placement,
                   const JobOptions& options) {
  return Builder(request, placement, options).run();
}

}  // namespace plait::strategy::pipeline
