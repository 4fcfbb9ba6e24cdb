// Finds the first reader of everything that is loaded or received, and puts the programs together.
#include <map>
#include <tuple>
#include <unordered_map>

#include "lower/lower.hpp"

namespace plait::lower {

namespace {

class Writer {
 public:
  Writer(Graph& graph, const Order& order)
      : graph_(graph), order_(order), moments_(graph.schedule.items.size()) {
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
    for (const auto& [update, receive] : graph_.weight_sends) {
      const plan::Message* message = plan::message_of(graph_.item(receive).task);
      add(behind_, update,
          plan::Send{{.value = message->value, .peer = graph_.item(receive).worker}});
    }
    return assemble();
  }

 private:
  using Moment = std::pair<int, int>;  ///< offset, position: when a minibatch comes to an item
  using Inserted = std::unordered_map<int, std::vector<plan::Task>>;  ///< by item

  const Moment& moment(int item) const { return moments_[static_cast<std::size_t>(item)]; }
  int worker(int item) const { return graph_.item(item).worker; }
  void add(Inserted& where, int item, const plan::What& what) const {
    where[item].push_back({{.offset = moment(item).first}, what});
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

  plan::Plan assemble() {
    const auto insert = [](const Inserted& from, int item, std::vector<plan::Task>& tasks) {
      if (const auto found = from.find(item); found != from.end()) {
        tasks.insert(tasks.end(), found->second.begin(), found->second.end());
      }
    };
    std::vector<plan::Program>& programs = graph_.schedule.plan.programs;
    for (std::size_t w = 0; w < order_.size(); ++w) {
      std::vector<plan::Task>& tasks = programs[w].tasks;
      for (const OrderedItem& ordered : order_[w]) {
        insert(before_, ordered.item, tasks);
        plan::Task task = graph_.item(ordered.item).task;
        task.when.offset = ordered.offset;
        tasks.push_back(task);
        insert(behind_, ordered.item, tasks);
      }
    }
    return std::move(graph_.schedule.plan);
  }

  Graph& graph_;
  const Order& order_;
  std::vector<Moment> moments_;  ///< by item
  Inserted before_;              ///< loads and receives
  Inserted behind_;              ///< sends
};

}  // namespace

plan::Plan write_programs(Graph graph, const Order& order) { return Writer(graph, order).run(); }

plan::Plan lower(Schedule schedule) {
  Graph graph = derive(std::move(schedule));
  const Order order = in_order(graph);
  return write_programs(std::move(graph), order);
}

}  // namespace plait::lower
