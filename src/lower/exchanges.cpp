// Repeats the programs of a node on every node, and puts the moves of exchanges between their
// tasks.
#include "lower/exchanges.hpp"

#include <algorithm>

#include "lower/graph.hpp"
#include "lower/overlap.hpp"
#include "lower/replica.hpp"

namespace plait::lower {

namespace {

class ExchangeWriter {
 public:
  explicit ExchangeWriter(const ExchangeSchedule& schedule)
      : schedule_(schedule),
        node_(schedule.node),
        plan_(node_),
        nodes_(schedule.machine.nodes),
        workers_(static_cast<std::size_t>(schedule.machine.workers())) {
    plan_.machine = schedule.machine;
    plan_.batch = schedule.batch;
    plan_.programs.assign(workers_.size(), {});
    for (const plan::Program& program : node_.programs) {
      programs_.push_back(with_early_updates(node_.network, program.tasks));
    }
    for (const ExchangeWay& way : schedule.ways) {
      plan_.modes.push_back(way.name);
      longest_ = std::max(longest_, way.merge.steps);
    }
    for (Worker& worker : workers_) {
      worker.middle.resize(schedule.ways.size());
      worker.end.resize(schedule.ways.size() + 1);
    }
  }

  plan::Plan run() {
    write_groups();
    for (const Held& held : held_together(node_)) add_exchanges(held);
    for (int node = 0; node < nodes_; ++node) {
      for (int place = 0; place < node_.workers(); ++place) write_program(node, place);
    }
    return std::move(plan_);
  }

 private:
  using Tasks = std::vector<plan::Task>;

  /// What a worker does for the exchanges.
  struct Worker {
    std::vector<Tasks> middle;  ///< by way: behind its last forward
    std::vector<Tasks> end;     ///< by way: behind its last task; averages are the last
    std::vector<OverlappedSums> streams;
  };

  /// When the moves of an exchange run, and among which tasks of the workers.
  struct Times {
    plan::When start{};
    plan::When sum{};
    plan::When finish{};
    std::size_t section = 0;  ///< of Worker::end
    bool sum_in_middle = false;
  };

  int number(int node, int place) const { return node * node_.workers() + place; }
  Worker& worker(int node, int place) {
    return workers_[static_cast<std::size_t>(number(node, place))];
  }
  int across(int place) const { return nodes_ * static_cast<int>(node_.groups.size()) + place; }

  /// Those of the nodes first, then, for every place in a node, the workers at that place.
  void write_groups() {
    plan_.groups.clear();
    for (int node = 0; node < nodes_; ++node) {
      for (const std::vector<int>& group : node_.groups) add_group(node, group);
    }
    for (int place = 0; place < node_.workers(); ++place) {
      std::vector<int>& group = plan_.groups.emplace_back();
      for (int node = 0; node < nodes_; ++node) group.push_back(number(node, place));
    }
  }
  int add_group(int node, const std::vector<int>& places) {
    std::vector<int>& group = plan_.groups.emplace_back();
    for (const int place : places) group.push_back(number(node, place));
    return static_cast<int>(plan_.groups.size()) - 1;
  }
  int add(plan::Bucket bucket) {
    plan_.buckets.push_back(std::move(bucket));
    return static_cast<int>(plan_.buckets.size()) - 1;
  }

  /// Of minibatches at the end of each `every`, `offset` steps later.
  plan::When when(std::size_t way, int offset) const {
    const int every = schedule_.ways[way].every;
    return {.offset = offset,
            .every = every,
            .phase = (every - 1 + offset) % every,
            .mode = static_cast<int>(way)};
  }

  void add_exchanges(const Held& held) {
    const bool shared = held.places.size() > 1;
    if (shared) find_holders(held);
    for (std::size_t way = 0; way < schedule_.ways.size(); ++way) {
      const plan::Merge& merge = schedule_.ways[way].merge;
      const plan::Bucket like{
          .payload = plan::Payload::weights, .merge = merge, .half = schedule_.half};
      if (merge.steps == 0 && !shared) {
        add_stream(held, like, way);
        continue;
      }
      // Half of the wait later, in the middle of a step, both halves of the way have had time to
      // travel. A new exchange is sent before the one under way is merged.
      add_parts(held, like,
                {.start = when(way, 0),
                 .sum = when(way, (merge.steps + 1) / 2),
                 .finish = when(way, merge.steps),
                 .section = way,
                 .sum_in_middle = merge.steps > 0});
    }
    // At the end of a range all are equal again, after everything that was under way.
    const plan::When last{.offset = longest_, .at_end = true};
    const Times at_end{last, last, last, schedule_.ways.size()};
    add_parts(held, {.payload = plan::Payload::weights}, at_end);
    if (plan_.optimizer_states > 0) {
      add_parts(held, {.payload = plan::Payload::optimizer}, at_end);
    }
    // Every worker has kept its part of it only.
    if (shared && plan::has_outer_optimizer(plan_)) {
      add_gather(held, plan::Payload::outer, at_end);
    }
  }

  /// The group of those who hold the same, in every node.
  void find_holders(const Held& held) {
    const auto known = std::ranges::find(node_.groups, held.places);
    const auto index = static_cast<int>(known - node_.groups.begin());
    holders_.clear();
    for (int node = 0; node < nodes_; ++node) {
      holders_.push_back(known != node_.groups.end()
                             ? node * static_cast<int>(node_.groups.size()) + index
                             : add_group(node, held.places));
    }
  }

  /// Each holder takes a part between the nodes, then they gather the parts.
  void add_parts(const Held& held, plan::Bucket like, const Times& times) {
    like.blocks = held.blocks;
    like.parts = static_cast<int>(held.places.size());
    for (like.part = 0; like.part < like.parts; ++like.part) {
      const int bucket = add(like);
      const int place = held.places[static_cast<std::size_t>(like.part)];
      for (int node = 0; node < nodes_; ++node) {
        Worker& of = worker(node, place);
        add_moves({.group = across(place), .bucket = bucket}, times, of.end[times.section],
                  times.sum_in_middle ? of.middle[times.section] : of.end[times.section]);
      }
    }
    if (like.parts > 1) add_gather(held, like.payload, times);
  }

  void add_gather(const Held& held, plan::Payload payload, const Times& times) {
    const int bucket = add(
        {.payload = payload, .blocks = held.blocks, .merge = {.kind = plan::MergeKind::gather}});
    for (int node = 0; node < nodes_; ++node) {
      for (const int place : held.places) {
        Tasks& tasks = worker(node, place).end[times.section];
        add_moves({.group = holders_[static_cast<std::size_t>(node)], .bucket = bucket},
                  {times.finish, times.finish, times.finish}, tasks, tasks);
      }
    }
  }

  static void add_moves(plan::Reduce reduce, const Times& times, Tasks& tasks, Tasks& sums) {
    tasks.push_back({times.start, reduce});
    reduce.move = plan::Move::sum;
    sums.push_back({times.sum, reduce});
    reduce.move = plan::Move::finish;
    tasks.push_back({times.finish, reduce});
  }

  /// Where one holds it and all wait for it, an exchange goes in buckets, each on its way as soon
  /// as its blocks are updated.
  void add_stream(const Held& held, const plan::Bucket& like, std::size_t way) {
    const int place = held.places.front();
    std::vector<int> updated;
    for (const plan::Task& task : programs_[static_cast<std::size_t>(place)]) {
      if (plan::is<plan::Update>(task)) updated.push_back(plan::block_of(task));
    }
    std::vector<int> in_order = updated;
    std::ranges::sort(in_order);
    const int first = static_cast<int>(plan_.buckets.size());
    for (const plan::Bucket& bucket :
         gradient_buckets(plan_.network, updated, schedule_.bucket_bytes, like.half ? 2 : 4)) {
      plan::Bucket weights = like;
      weights.blocks = bucket.blocks;
      add(std::move(weights));
    }
    for (const int block : held.blocks) {  // running statistics of blocks that nobody updates
      if (std::ranges::binary_search(in_order, block)) continue;
      std::vector<int>& blocks = plan_.buckets.back().blocks;
      blocks.insert(blocks.begin(), block);
    }
    for (int node = 0; node < nodes_; ++node) {
      Tasks& tasks = plan_.programs[static_cast<std::size_t>(number(node, place))].tasks;
      worker(node, place)
          .streams.emplace_back(
              plan_, first, static_cast<int>(plan_.buckets.size()),
              [&tasks, group = across(place), then = when(way, 0)](plan::Move move, int bucket) {
                tasks.push_back({then, plan::Reduce{move, group, bucket}});
              });
    }
  }

  /// A task of the node's plan, as one of this node.
  plan::Task in_node(int node, const plan::Task& like) const {
    plan::Task task = like;
    move_to({node, nodes_, node_.workers()}, task);
    if (auto* reduce = std::get_if<plan::Reduce>(&task.what)) {
      reduce->group += node * static_cast<int>(node_.groups.size());
    }
    return task;
  }

  void write_program(int node, int place) {
    const Tasks& inner = programs_[static_cast<std::size_t>(place)];
    plan::Program& program = plan_.programs[static_cast<std::size_t>(number(node, place))];
    Worker& of = worker(node, place);
    program.averages = plan::part_of(node, nodes_);
    const auto append = [&](const std::vector<Tasks>& sections) {
      for (const Tasks& tasks : sections) {
        program.tasks.insert(program.tasks.end(), tasks.begin(), tasks.end());
      }
    };
    program.tasks.reserve(inner.size());
    std::size_t middle = 0;
    for (std::size_t i = 0; i < inner.size(); ++i) {
      if (plan::is<plan::Forward>(inner[i]) || plan::is<plan::Loss>(inner[i])) middle = i + 1;
    }
    for (std::size_t i = 0; i < inner.size(); ++i) {
      if (i == middle) append(of.middle);
      program.tasks.push_back(in_node(node, inner[i]));
      if (!plan::is<plan::Update>(inner[i])) continue;
      for (OverlappedSums& stream : of.streams) stream.block_ready(plan::block_of(inner[i]));
    }
    for (OverlappedSums& stream : of.streams) stream.drain();
    append(of.end);
  }

  const ExchangeSchedule& schedule_;
  const plan::Plan& node_;
  plan::Plan plan_;
  int nodes_;
  int longest_ = 0;  ///< wait
  std::vector<Worker> workers_;
  std::vector<Tasks> programs_;  ///< of a node, by place
  std::vector<int> holders_;     ///< by node: group of those who hold the blocks at hand
};

}  // namespace

plan::Plan with_exchanges(const ExchangeSchedule& schedule) {
  return ExchangeWriter(schedule).run();
}

}  // namespace plait::lower
