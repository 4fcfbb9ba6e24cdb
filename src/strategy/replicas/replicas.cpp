#include "strategy/replicas/replicas.hpp"

#include <algorithm>
#include <numeric>

#include "base/error.hpp"
#include "strategy/reductions.hpp"
#include "strategy/steps.hpp"

namespace plait {

namespace {

void check(const std::string& name, const PlanRequest& request) {
  const Machine& machine = request.machine;
  if (machine.nodes < 2) {
    user_error(
        "{} exchanges weights between nodes, and there is one; add --nodes 2 "
        "(threads that pretend), "
        "or start it with mpirun on several, or use --strategy data_parallel",
        name);
  }
  const std::int64_t parts = std::int64_t{machine.workers()} * request.microbatches;
  if (parts <= request.batch) return;
  user_error(
      "--batch {} has not enough samples for {} workers x {} "
      "microbatches; use at least {}",
      request.batch, machine.workers(), request.microbatches, parts);
}

/// Groups: of the nodes first (where they have several workers), then, for every place in a node,
/// the workers at that place.
class Writer {
 public:
  Writer(const std::string& name, const PlanRequest& request, std::vector<ExchangeMode> modes)
      : request_(request),
        modes_(std::move(modes)),
        plan_(empty_plan(name, request)),
        nodes_(request.machine.nodes),
        places_(request.machine.workers_per_node) {
    all_.resize(plan_.network.blocks.size());
    std::iota(all_.begin(), all_.end(), 0);
    std::erase_if(all_, [&](int block) {
      const NetworkBlock& of = plan_.network.blocks[static_cast<std::size_t>(block)];
      return of.parameters == 0 && of.state == 0;
    });
    for (const ExchangeMode& mode : modes_) {
      plan_.modes.push_back(mode.name());
      longest_ = std::max(longest_, mode.wait);
    }
  }

  Plan run() {
    if (places_ > 1) {
      for (int node = 0; node < nodes_; ++node) {
        std::vector<int>& group = plan_.groups.emplace_back();
        for (int place = 0; place < places_; ++place) group.push_back(worker(node, place));
      }
    }
    for (int place = 0; place < places_; ++place) {
      std::vector<int>& group = plan_.groups.emplace_back();
      for (int node = 0; node < nodes_; ++node) group.push_back(worker(node, place));
    }
    write_buckets();
    for (int node = 0; node < nodes_; ++node) {
      for (int place = 0; place < places_; ++place) write_program(node, place);
    }
    return std::move(plan_);
  }

 private:
  int worker(int node, int place) const { return node * places_ + place; }
  int across(int place) const { return (places_ > 1 ? nodes_ : 0) + place; }
  int add(Bucket bucket) {
    plan_.buckets.push_back(std::move(bucket));
    return static_cast<int>(plan_.buckets.size()) - 1;
  }

  void write_buckets() {
    if (places_ > 1) {
      if (Bucket state = state_bucket(plan_.network, all_); !state.blocks.empty()) {
        add(std::move(state));
      }
      std::vector<int> backwards(all_.rbegin(), all_.rend());
      for (Bucket& bucket :
           gradient_buckets(plan_.network, backwards, request_.bucket_bytes, request_.wire_bytes)) {
        add(std::move(bucket));
      }
    }
    inner_ = static_cast<int>(plan_.buckets.size());
    const ExchangeRequest& exchange = request_.exchange;
    for (const ExchangeMode& mode : modes_) {
      const Merge merge{.kind = mode.merge,
                        .steps = mode.wait,
                        .rate = exchange.outer_rate,
                        .momentum = exchange.outer_momentum};
      exchanges_.push_back(add_parts(
          {.payload = Payload::weights, .blocks = all_, .merge = merge, .half = exchange.half}));
    }
    averages_.push_back(add_parts({.payload = Payload::weights, .blocks = all_}));
    if (request_.optimizer_states > 0) {
      averages_.push_back(add_parts({.payload = Payload::optimizer, .blocks = all_}));
    }
    if (places_ > 1 && has_outer_optimizer(plan_)) {
      outer_ =
          add({.payload = Payload::outer, .blocks = all_, .merge = {.kind = MergeKind::gather}});
    }
  }

  /// What one exchange needs: per place in the node the part that goes between nodes, and the
  /// gathering inside a node; -1 where it has one worker.
  struct Parts {
    std::vector<int> part;
    int gather = -1;
  };
  Parts add_parts(Bucket like) {
    Parts parts;
    like.parts = places_;
    for (like.part = 0; like.part < places_; ++like.part) parts.part.push_back(add(like));
    if (places_ > 1) {
      parts.gather =
          add({.payload = like.payload, .blocks = all_, .merge = {.kind = MergeKind::gather}});
    }
    return parts;
  }

  static Task move(TaskKind kind, int group, int bucket, const Task& like) {
    Task task = like;
    task.kind = kind;
    task.group = group;
    task.bucket = bucket;
    return task;
  }
  static void triple(int group, int bucket, const Task& like, std::vector<Task>& tasks) {
    for (const TaskKind kind :
         {TaskKind::reduce_start, TaskKind::reduce_sum, TaskKind::reduce_finish}) {
      tasks.push_back(move(kind, group, bucket, like));
    }
  }
  /// Of minibatches at the end of each `every`, `offset` steps later.
  static Task when(int mode, const ExchangeMode& of, int offset) {
    return {.offset = offset,
            .every = of.every,
            .phase = (of.every - 1 + offset) % of.every,
            .mode = mode};
  }

  void write_program(int node, int place) {
    Program& program = plan_.programs[static_cast<std::size_t>(worker(node, place))];
    program.averages = part_of(node, nodes_);
    std::vector<Task>& tasks = program.tasks;
    const int parts = plan_.microbatches;
    OverlappedReductions reductions(plan_, {.group = node, .first = 0, .last = inner_},
                                    !request_.clip, tasks);
    for (int k = 0; k < parts; ++k) {
      const Task like{.accumulate = k > 0,
                      .samples = part_of(worker(node, place) * parts + k, plan_.workers() * parts)};
      append_forward(plan_.network, like, tasks);
      const bool last = k + 1 == parts;
      if (last) sums_under_way(place, tasks);
      if (last && places_ > 1) reductions.state_ready();
      for (int block = plan_.network.size(); block-- > 0;) {
        append_backward(plan_.network, block, like, tasks);
        if (last && places_ > 1) reductions.gradient_ready(block);
      }
    }
    if (places_ > 1) reductions.drain();
    if (places_ == 1 || request_.clip) append_updates(plan_.network, request_.clip, tasks);
    exchanges(node, place, tasks);
    averages(node, place, tasks);
  }

  /// In the middle of a step, half of the wait later: both halves of the way have time to travel.
  void sums_under_way(int place, std::vector<Task>& tasks) {
    for (std::size_t m = 0; m < modes_.size(); ++m) {
      if (modes_[m].wait == 0) continue;
      const Task like = when(static_cast<int>(m), modes_[m], (modes_[m].wait + 1) / 2);
      tasks.push_back(move(TaskKind::reduce_sum, across(place),
                           exchanges_[m].part[static_cast<std::size_t>(place)], like));
    }
  }

  /// A new one is sent before the one under way is merged.
  void exchanges(int node, int place, std::vector<Task>& tasks) {
    for (std::size_t m = 0; m < modes_.size(); ++m) {
      const ExchangeMode& mode = modes_[m];
      const int bucket = exchanges_[m].part[static_cast<std::size_t>(place)];
      const int group = across(place);
      const Task now = when(static_cast<int>(m), mode, 0);
      const Task then = when(static_cast<int>(m), mode, mode.wait);
      if (mode.wait == 0) {
        triple(group, bucket, now, tasks);
      } else {
        tasks.push_back(move(TaskKind::reduce_start, group, bucket, now));
        tasks.push_back(move(TaskKind::reduce_finish, group, bucket, then));
      }
      if (places_ > 1) triple(node, exchanges_[m].gather, then, tasks);
    }
  }

  /// At the end of a range all are equal again, after everything that was under way.
  void averages(int node, int place, std::vector<Task>& tasks) {
    const Task like{.offset = longest_, .at_end = true};
    for (const Parts& average : averages_) {
      triple(across(place), average.part[static_cast<std::size_t>(place)], like, tasks);
      if (places_ > 1) triple(node, average.gather, like, tasks);
    }
    // Every worker has kept its part of it only.
    if (outer_ >= 0) triple(node, outer_, like, tasks);
  }

  const PlanRequest& request_;
  std::vector<ExchangeMode> modes_;
  Plan plan_;
  int nodes_;
  int places_;
  std::vector<int> all_;          ///< blocks with parameters or running statistics
  int inner_ = 0;                 ///< buckets of gradients and state, inside the nodes
  int longest_ = 0;               ///< wait
  std::vector<Parts> exchanges_;  ///< by mode
  std::vector<Parts> averages_;
  int outer_ = -1;  ///< bucket
};

Plan blocking_plan(const std::string& name, const PlanRequest& request, MergeKind merge) {
  check(name, request);
  if (request.exchange.local_steps < 1) {
    user_error("--local-steps {}: there is at least 1", request.exchange.local_steps);
  }
  return Writer(name, request, {{.every = request.exchange.local_steps, .wait = 0, .merge = merge}})
      .run();
}

}  // namespace

Plan make_daso_plan(const PlanRequest& request) {
  check("daso", request);
  const ExchangeRequest& exchange = request.exchange;
  if (exchange.every < 1 || exchange.wait < 1 || exchange.most < exchange.every) {
    user_error(
        "--exchange-every {} --exchange-wait {} --exchange-most {}: 1 "
        "or more, and at most "
        "--exchange-most",
        exchange.every, exchange.wait, exchange.most);
  }
  if (exchange.wait >= exchange.every) {
    user_error(
        "--exchange-wait {} is not below --exchange-every {}: an "
        "exchange is merged before the next "
        "one begins; use --exchange-wait {} or --exchange-every {}",
        exchange.wait, exchange.every, std::max(1, exchange.every - 1), exchange.wait + 1);
  }
  return Writer("daso", request, daso_modes(exchange)).run();
}

Plan make_local_sgd_plan(const PlanRequest& request) {
  return blocking_plan("local_sgd", request, MergeKind::average);
}

Plan make_diloco_plan(const PlanRequest& request) {
  return blocking_plan("diloco", request, MergeKind::outer);
}

}  // namespace plait
