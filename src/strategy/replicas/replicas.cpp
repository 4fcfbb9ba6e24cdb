// Repeats the inner plan on every node, and adds the exchanges of daso, local_sgd and diloco.
#include "strategy/replicas/replicas.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "strategy/reductions.hpp"
#include "strategy/replicas/inside_node.hpp"

namespace plait::strategy {

namespace {

void check(const std::string& name, const PlanRequest& request) {
  const plan::Machine& machine = request.machine;
  if (machine.nodes < 2) {
    user_error(
        "{} exchanges weights between nodes, but there is only one; add `nodes` 2 "
        "(simulated by threads), "
        "or start it with mpirun on several nodes, or use data_parallel",
        name);
  }
  const std::int64_t parts = std::int64_t{machine.workers()} * request.microbatches;
  if (parts <= request.batch) return;
  setting_error("batch", request.batch,
                "has too few samples for {} workers x {} "
                "microbatches; use at least {}",
                machine.workers(), request.microbatches, parts);
}

/// The plan of a node, once per node, with exchanges between those who hold the same.
class Writer {
 public:
  Writer(const std::string& name, const PlanRequest& request, std::vector<ExchangeMode> modes)
      : request_(request),
        modes_(std::move(modes)),
        inner_(inner_plan(name, request)),
        plan_(inner_),
        nodes_(request.machine.nodes),
        places_(request.machine.workers_per_node) {
    plan_.strategy = name;
    plan_.machine = request.machine;
    plan_.batch = request.batch;
    for (const plan::Program& program : inner_.programs) {
      nodes_programs_.push_back(with_early_updates(inner_.network, program.tasks));
    }
    for (const ExchangeMode& mode : modes_) {
      plan_.modes.push_back(mode.name());
      longest_ = std::max(longest_, mode.wait);
    }
  }

  plan::Plan run() {
    write_groups();
    for (Held& held : held_together(inner_, plan_.strategy)) write_buckets(std::move(held));
    plan_.programs.clear();
    for (int node = 0; node < nodes_; ++node) {
      for (int place = 0; place < places_; ++place) {
        plan_.programs.push_back(program_of(node, place));
      }
    }
    return std::move(plan_);
  }

 private:
  int worker(int node, int place) const { return node * places_ + place; }
  int inner_group(int node, int group) const {
    return node * static_cast<int>(inner_.groups.size()) + group;
  }
  int across(int place) const { return first_across_ + place; }

  /// Those of the nodes first, then, for every place in a node, the workers at that place.
  void write_groups() {
    plan_.groups.clear();
    for (int node = 0; node < nodes_; ++node) {
      for (const std::vector<int>& group : inner_.groups) add_group(node, group);
    }
    first_across_ = static_cast<int>(plan_.groups.size());
    for (int place = 0; place < places_; ++place) {
      std::vector<int>& group = plan_.groups.emplace_back();
      for (int node = 0; node < nodes_; ++node) group.push_back(worker(node, place));
    }
  }
  int add_group(int node, const std::vector<int>& places) {
    std::vector<int>& group = plan_.groups.emplace_back();
    for (const int place : places) group.push_back(worker(node, place));
    return static_cast<int>(plan_.groups.size()) - 1;
  }
  int add(plan::Bucket bucket) {
    plan_.buckets.push_back(std::move(bucket));
    return static_cast<int>(plan_.buckets.size()) - 1;
  }

  /// One exchange of what some workers of every node hold: each takes a part between the nodes,
  /// then they gather the parts; -1 where one holds it all.
  struct Parts {
    std::vector<int> part;
    int gather = -1;
  };
  /// Where one holds it and all wait for it, an exchange goes in buckets, each on its way as soon
  /// as its blocks are updated.
  struct Stream {
    int mode = 0;
    int first = 0;  ///< bucket
    int last = 0;
  };
  /// All exchanges of what some workers of every node hold.
  struct Exchanges {
    std::vector<int> places;
    std::vector<int> groups;   ///< of the holders, by node; empty where there is one
    std::vector<Parts> modes;  ///< without parts where it is a stream
    std::vector<Stream> streams;
    std::vector<Parts> averages;
    int outer = -1;  ///< bucket
    std::size_t index_of(int place) const {
      return static_cast<std::size_t>(std::ranges::find(places, place) - places.begin());
    }
  };

  void write_buckets(Held held) {
    Exchanges all;
    const bool shared = held.places.size() > 1;
    if (shared) {
      const auto known = std::ranges::find(inner_.groups, held.places);
      for (int node = 0; node < nodes_; ++node) {
        const auto group = static_cast<int>(known - inner_.groups.begin());
        all.groups.push_back(known != inner_.groups.end() ? inner_group(node, group)
                                                          : add_group(node, held.places));
      }
    }
    const ExchangeRequest& exchange = request_.exchange;
    for (const ExchangeMode& mode : modes_) {
      plan::Merge merge{.kind = mode.merge, .steps = mode.wait};
      if (mode.merge == plan::MergeKind::outer) {
        const OuterSettings outer = outer_settings(exchange);
        merge.rate = outer.rate;
        merge.momentum = outer.momentum;
      }
      const plan::Bucket like{
          .payload = plan::Payload::weights, .merge = merge, .half = exchange.half};
      if (mode.wait == 0 && !shared) {
        all.streams.push_back(add_stream(held, like, static_cast<int>(all.modes.size())));
        all.modes.emplace_back();
      } else {
        all.modes.push_back(add_parts(held, like));
      }
    }
    all.averages.push_back(add_parts(held, {.payload = plan::Payload::weights}));
    if (request_.optimizer_states > 0) {
      all.averages.push_back(add_parts(held, {.payload = plan::Payload::optimizer}));
    }
    if (shared && plan::has_outer_optimizer(plan_)) {
      all.outer = add({.payload = plan::Payload::outer,
                       .blocks = held.blocks,
                       .merge = {.kind = plan::MergeKind::gather}});
    }
    all.places = std::move(held.places);
    exchanges_.push_back(std::move(all));
  }

  Parts add_parts(const Held& held, plan::Bucket like) {
    Parts parts;
    like.blocks = held.blocks;
    like.parts = static_cast<int>(held.places.size());
    for (like.part = 0; like.part < like.parts; ++like.part) parts.part.push_back(add(like));
    if (like.parts > 1) {
      parts.gather = add({.payload = like.payload,
                          .blocks = held.blocks,
                          .merge = {.kind = plan::MergeKind::gather}});
    }
    return parts;
  }

  Stream add_stream(const Held& held, const plan::Bucket& like, int mode) {
    std::vector<int> updated;
    for (const plan::Task& task : nodes_programs_[static_cast<std::size_t>(held.places.front())]) {
      if (plan::is<plan::Update>(task)) updated.push_back(plan::block_of(task));
    }
    Stream stream{.mode = mode, .first = static_cast<int>(plan_.buckets.size())};
    for (const plan::Bucket& bucket :
         gradient_buckets(plan_.network, updated, request_.bucket_bytes, like.half ? 2 : 4)) {
      plan::Bucket weights = like;
      weights.blocks = bucket.blocks;
      add(std::move(weights));
    }
    stream.last = static_cast<int>(plan_.buckets.size());
    for (const int block : held.blocks) {  // running statistics of blocks that nobody updates
      if (std::ranges::find(updated, block) != updated.end()) continue;
      std::vector<int>& blocks = plan_.buckets.back().blocks;
      blocks.insert(blocks.begin(), block);
    }
    return stream;
  }

  static void triple(int group, int bucket, const plan::When& then,
                     std::vector<plan::Task>& tasks) {
    for (const plan::Move move : {plan::Move::start, plan::Move::sum, plan::Move::finish}) {
      tasks.push_back({then, plan::Reduce{move, group, bucket}});
    }
  }
  /// Of minibatches at the end of each `every`, `offset` steps later.
  static plan::When when(int mode, const ExchangeMode& of, int offset) {
    return {.offset = offset,
            .every = of.every,
            .phase = (of.every - 1 + offset) % of.every,
            .mode = mode};
  }

  /// A task of the node's plan, as one of this node.
  plan::Task in_node(int node, const plan::Task& like) const {
    plan::Task task = like;
    if (plan::Message* message = plan::message_of(task))
      message->peer = worker(node, message->peer);
    if (auto* reduce = std::get_if<plan::Reduce>(&task.what)) {
      reduce->group = inner_group(node, reduce->group);
    }
    const plan::Samples of = plan::samples_of(like);
    plan::set_samples(task, {node * of.of + of.begin, node * of.of + of.end, nodes_ * of.of});
    return task;
  }

  plan::Program program_of(int node, int place) const {
    const std::vector<plan::Task>& inner = nodes_programs_[static_cast<std::size_t>(place)];
    plan::Program program{.averages = plan::part_of(node, nodes_)};
    std::vector<plan::Task> moves;
    std::vector<std::pair<OverlappedReductions, plan::When>> streams;
    for_exchanges(place, [&](const Exchanges& all, std::size_t) {
      for (const Stream& one : all.streams) {
        streams.emplace_back(
            OverlappedReductions(plan_, {across(place), one.first, one.last}, false, moves),
            when(one.mode, modes_[static_cast<std::size_t>(one.mode)], 0));
      }
    });
    const auto append_moves = [&](const plan::When& then) {
      for (const plan::Task& task : moves) program.tasks.push_back({then, task.what});
      moves.clear();
    };
    std::size_t middle = 0;
    for (std::size_t i = 0; i < inner.size(); ++i) {
      if (plan::is<plan::Forward>(inner[i]) || plan::is<plan::Loss>(inner[i])) middle = i + 1;
    }
    for (std::size_t i = 0; i < inner.size(); ++i) {
      if (i == middle) sums_under_way(place, program.tasks);
      program.tasks.push_back(in_node(node, inner[i]));
      if (!plan::is<plan::Update>(inner[i])) continue;
      for (auto& [reductions, then] : streams) {
        reductions.block_ready(plan::block_of(inner[i]));
        append_moves(then);
      }
    }
    for (auto& [reductions, then] : streams) {
      reductions.drain();
      append_moves(then);
    }
    exchanges(node, place, program.tasks);
    averages(node, place, program.tasks);
    return program;
  }

  template <class Do>
  void for_exchanges(int place, Do what) const {
    for (const Exchanges& all : exchanges_) {
      if (const std::size_t index = all.index_of(place); index < all.places.size()) {
        what(all, index);
      }
    }
  }

  /// In the middle of a step, half of the wait later: both halves of the way have time to travel.
  void sums_under_way(int place, std::vector<plan::Task>& tasks) const {
    for (std::size_t m = 0; m < modes_.size(); ++m) {
      if (modes_[m].wait == 0) continue;
      const plan::When then = when(static_cast<int>(m), modes_[m], (modes_[m].wait + 1) / 2);
      for_exchanges(place, [&](const Exchanges& all, std::size_t index) {
        tasks.push_back(
            {then, plan::Reduce{plan::Move::sum, across(place), all.modes[m].part[index]}});
      });
    }
  }

  /// A new one is sent before the one under way is merged.
  void exchanges(int node, int place, std::vector<plan::Task>& tasks) const {
    for (std::size_t m = 0; m < modes_.size(); ++m) {
      const ExchangeMode& mode = modes_[m];
      const int group = across(place);
      const plan::When now = when(static_cast<int>(m), mode, 0);
      const plan::When then = when(static_cast<int>(m), mode, mode.wait);
      for_exchanges(place, [&](const Exchanges& all, std::size_t index) {
        if (all.modes[m].part.empty()) return;  // a stream
        const int bucket = all.modes[m].part[index];
        if (mode.wait == 0) {
          triple(group, bucket, now, tasks);
        } else {
          tasks.push_back({now, plan::Reduce{plan::Move::start, group, bucket}});
          tasks.push_back({then, plan::Reduce{plan::Move::finish, group, bucket}});
        }
        gather(node, all, all.modes[m].gather, then, tasks);
      });
    }
  }

  /// At the end of a range all are equal again, after everything that was under way.
  void averages(int node, int place, std::vector<plan::Task>& tasks) const {
    const plan::When then{.offset = longest_, .at_end = true};
    for_exchanges(place, [&](const Exchanges& all, std::size_t index) {
      for (const Parts& average : all.averages) {
        triple(across(place), average.part[index], then, tasks);
        gather(node, all, average.gather, then, tasks);
      }
      // Every worker has kept its part of it only.
      gather(node, all, all.outer, then, tasks);
    });
  }

  static void gather(int node, const Exchanges& all, int bucket, const plan::When& then,
                     std::vector<plan::Task>& tasks) {
    if (bucket >= 0) triple(all.groups[static_cast<std::size_t>(node)], bucket, then, tasks);
  }

  const PlanRequest& request_;
  std::vector<ExchangeMode> modes_;
  plan::Plan inner_;
  plan::Plan plan_;
  int nodes_;
  int places_;
  std::vector<std::vector<plan::Task>> nodes_programs_;  ///< by place
  int first_across_ = 0;
  int longest_ = 0;  ///< wait
  std::vector<Exchanges> exchanges_;
};

plan::Plan blocking_plan(const std::string& name, const PlanRequest& request,
                         plan::MergeKind merge) {
  check(name, request);
  if (request.exchange.local_steps < 1) {
    setting_error("local_steps", request.exchange.local_steps, "must be at least 1");
  }
  return Writer(name, request, {{.every = request.exchange.local_steps, .wait = 0, .merge = merge}})
      .run();
}

}  // namespace

plan::Plan make_daso_plan(const PlanRequest& request) {
  check("daso", request);
  const ExchangeRequest& exchange = request.exchange;
  if (exchange.every < 2 || exchange.wait < 1) {
    setting_error(
        "exchange_every", exchange.every,
        "`exchange_wait` {}: an exchange is merged 1 or more steps later and "
        "before the next one begins; use at least `exchange_every` 2 and `exchange_wait` 1",
        exchange.wait);
  }
  if (exchange.most < exchange.every) {
    setting_error("exchange_every", exchange.every,
                  "is above `exchange_most` {}; add `exchange_most` {}", exchange.most,
                  exchange.every);
  }
  if (exchange.wait >= exchange.every) {
    setting_error(
        "exchange_wait", exchange.wait,
        "is not below `exchange_every` {}: an "
        "exchange is merged before the next "
        "one begins; use `exchange_wait` {}, or `exchange_every` {}{}",
        exchange.every, exchange.every - 1, exchange.wait + 1,
        exchange.wait < exchange.most ? "" : fmt::format(" `exchange_most` {}", exchange.wait + 1));
  }
  return Writer("daso", request, daso_modes(exchange)).run();
}

plan::Plan make_local_sgd_plan(const PlanRequest& request) {
  return blocking_plan("local_sgd", request, plan::MergeKind::average);
}

plan::Plan make_diloco_plan(const PlanRequest& request) {
  return blocking_plan("diloco", request, plan::MergeKind::outer);
}

}  // namespace plait::strategy
