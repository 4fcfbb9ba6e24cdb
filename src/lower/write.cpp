// Finds the first reader of everything that is loaded or received, and puts the programs together.
#include <map>
#include <tuple>

#include "lower/lower.hpp"
#include "lower/replica.hpp"

namespace plait::lower {

namespace {

/// Tasks beside items, in the order in which they are added.
class Inserted {
 public:
  explicit Inserted(std::size_t items) : ends_(items, {-1, -1}) {}

  void add(int item, const plan::Task& task) {
    auto& [first, last] = ends_[static_cast<std::size_t>(item)];
    const int here = static_cast<int>(entries_.size());
    entries_.push_back({task, -1});
    (first < 0 ? first : entries_[static_cast<std::size_t>(last)].next) = here;
    last = here;
  }
  void append_to(std::vector<plan::Task>& tasks, int item) const {
    for (int at = ends_[static_cast<std::size_t>(item)].first; at >= 0;
         at = entries_[static_cast<std::size_t>(at)].next) {
      tasks.push_back(entries_[static_cast<std::size_t>(at)].task);
    }
  }

 private:
  struct Entry {
    plan::Task task;
    int next;
  };
  std::vector<std::pair<int, int>> ends_;  ///< by item: its first and last entry
  std::vector<Entry> entries_;
};

class Writer {
 public:
  Writer(const Graph& graph, const Order& order)
      : graph_(graph),
        order_(order),
        moments_(graph.schedule.items.size()),
        before_(moments_.size()),
        behind_(moments_.size()) {
    for (const std::vector<OrderedItem>& ordered : order) {
      for (std::size_t i = 0; i < ordered.size(); ++i) {
        moments_[static_cast<std::size_t>(ordered[i].item)] = {ordered[i].offset,
                                                               static_cast<int>(i)};
      }
    }
  }

  plan::Plan run() {
    add_loads();
    add_messages();
    for (const auto& [made, receive] : graph_.parameter_sends) {
      const plan::Message* message = plan::message_of(graph_.item(receive).task);
      add(behind_, made,
          plan::Send{{.value = message->value, .peer = graph_.item(receive).worker}});
    }
    return assemble();
  }

 private:
  using Moment = std::pair<int, int>;  ///< offset, position: when a minibatch comes to an item

  const Moment& moment(int item) const { return moments_[static_cast<std::size_t>(item)]; }
  int worker(int item) const { return graph_.item(item).worker; }
  void add(Inserted& where, int item, const plan::What& what) const {
    where.add(item, {{.offset = moment(item).first}, what});
  }

  void add_loads() {
    using Key = std::tuple<int, plan::Samples>;  // worker
    std::map<Key, int> first;
    for (const int item : graph_.reads_data) {
      const auto [found, is_new] =
          first.try_emplace({worker(item), plan::samples_of(graph_.item(item).task)}, item);
      if (!is_new && moment(item) < moment(found->second)) found->second = item;
    }
    for (int item = 0; item < graph_.listed; ++item) {
      const auto* load = std::get_if<plan::Load>(&graph_.item(item).task.what);
      if (load != nullptr) first.erase({worker(item), load->samples});
    }
    for (const auto& [key, item] : first) add(before_, item, plan::Load{std::get<1>(key)});
  }

  void add_messages() {
    using Key = std::tuple<plan::Role, int, int, int, int>;  // value, from, to
    std::map<Key, const Delivery*> wanted;
    for (const Delivery& delivery : graph_.deliveries) {
      const Key key{delivery.sent.role, delivery.sent.index, delivery.sent.samples.begin,
                    worker(delivery.maker), worker(delivery.user)};
      const auto [found, is_new] = wanted.try_emplace(key, &delivery);
      if (!is_new && moment(delivery.user) < moment(found->second->user)) {
        found->second = &delivery;
      }
    }
    for (const auto& [key, delivery] : wanted) {
      const auto message = [&, of = delivery](const plan::Value& value, int peer) {
        const bool half = graph_.schedule.half_messages && plan::is_of_tensor(value.role);
        return plan::Message{.value = value, .peer = peer, .list = of->list, .half = half};
      };
      add(behind_, graph_.schedule.sender(delivery->maker),
          plan::Send{message(delivery->sent, worker(delivery->user))});
      add(before_, delivery->user,
          plan::Receive{.message = message(delivery->received, worker(delivery->maker)),
                        .adds = delivery->adds});
    }
  }

  plan::Plan assemble() const {
    plan::Plan plan = graph_.schedule.plan;
    for (std::size_t w = 0; w < order_.size(); ++w) {
      std::vector<plan::Task> tasks = written(order_[w]);
      for (int r = graph_.schedule.replicas; r-- > 0;) {
        const Replica replica{r, graph_.schedule.replicas, graph_.schedule.workers()};
        plan::Program& program =
            plan.programs[static_cast<std::size_t>(replica.worker(static_cast<int>(w)))];
        program.tasks = r > 0 ? tasks : std::move(tasks);
        if (replica.of == 1) continue;
        for (plan::Task& task : program.tasks) move_to(replica, task);
      }
    }
    return plan;
  }

  std::vector<plan::Task> written(const std::vector<OrderedItem>& order) const {
    std::vector<plan::Task> tasks;
    tasks.reserve(order.size());
    for (const OrderedItem& ordered : order) {
      before_.append_to(tasks, ordered.item);
      plan::Task task = graph_.item(ordered.item).task;
      task.when.offset = ordered.offset;
      tasks.push_back(task);
      behind_.append_to(tasks, ordered.item);
    }
    return tasks;
  }

  const Graph& graph_;
  const Order& order_;
  std::vector<Moment> moments_;  ///< by item
  Inserted before_;              ///< loads and receives
  Inserted behind_;              ///< sends
};

}  // namespace

plan::Plan write_programs(const Graph& graph, const Order& order) {
  return Writer(graph, order).run();
}

plan::Plan lower(Schedule schedule) {
  Graph graph = derive(std::move(schedule));
  const Order order = in_order(graph);
  return write_programs(graph, order);
}

}  // namespace plait::lower
