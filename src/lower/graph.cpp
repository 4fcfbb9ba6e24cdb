// Lists what the schedule leaves out, in two passes.
#include "lower/graph.hpp"

#include <algorithm>

namespace plait::lower {

void add_wait(Graph& graph, int item, Wait wait, double bytes) {
  if (graph.cost == nullptr) return;
  const int from = graph.item(wait.item).worker;
  const int to = graph.item(item).worker;
  if (from != to) {
    const plan::Link& link = graph.schedule.plan.machine.link(from, to);
    wait.seconds = link.latency_seconds;
    if (link.bytes_per_second > 0) wait.seconds += bytes / link.bytes_per_second;
  }
  graph.item(item).after.push_back(wait);
}

Graph derive(Schedule schedule, const cost::CostModel* cost) {
  Graph graph{.schedule = std::move(schedule)};
  graph.listed = graph.size();
  graph.cost = cost;
  find_deliveries(graph);
  add_sums(graph);
  if (cost == nullptr) return graph;
  const plan::Plan& plan = graph.schedule.plan;
  const int busy = std::min(plan.workers(), plan.machine.workers_per_node);
  for (Item& item : graph.schedule.items) {
    item.seconds = cost::task_seconds(*cost, plan, item.task, busy);
  }
  return graph;
}

}  // namespace plait::lower
