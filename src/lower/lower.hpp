// Lowering, shared by all strategies: from placed and ordered tasks to a plan.
#pragma once

#include "lower/graph.hpp"

namespace plait::lower {

/// An item in the loop of its worker, `offset` steps late.
struct OrderedItem {
  int item = 0;
  int offset = 0;
  bool operator==(const OrderedItem&) const = default;
};
using Order = std::vector<std::vector<OrderedItem>>;  ///< by worker

/// The order in which items are listed, with sums between them as soon as they can begin: of the
/// buckets of a group start(j) is followed by sum(j - 1) and finish(j - 2) and, without clipping,
/// by the updates of that bucket's blocks; other updates are last. Messages leave behind sums that
/// begin with the same item.
Order in_order(Graph& graph);

/// Programs with loads and messages: a value is sent right behind the item that makes it
/// (Item::sent_behind) and received right before it is first read; input and targets are loaded
/// where they are first read.
plan::Plan write_programs(const Graph& graph, const Order& order);

/// All steps, in the order of the list. Strategies that order sums and updates themselves take them
/// one by one.
plan::Plan lower(Schedule schedule);

}  // namespace plait::lower
