// Graph: a schedule with everything that follows from it, not yet in the order of programs: sums of
// gradients and statistics, clipping, updates, copies of weights, and what travels.
#pragma once

#include "cost/cost_model.hpp"
#include "lower/schedule.hpp"

namespace plait::lower {

/// A value that one worker makes and another one reads.
struct Delivery {
  plan::Value sent{};
  plan::Value received{};  ///< another tensor's where rows travel
  int list = -1;           ///< of rows
  bool adds = false;       ///< rows of a gradient, to what is there
  int maker = 0;           ///< item
  int user = 0;            ///< one of the items that read it
};

struct Graph {
  Schedule schedule{};  ///< its plan with groups and buckets
  /// Items behind the listed ones are sums of gradients (add_gradient, reductions), clip, updates,
  /// and receives: of weights by workers that read but do not update them, of gradients by the
  /// worker that updates the weights.
  int listed = 0;
  std::vector<Delivery> deliveries{};
  std::vector<int> reads_data{};  ///< items that read the input or the targets
  /// Of weights and gradients: the item behind which they are sent, and the receive.
  std::vector<std::pair<int, int>> parameter_sends{};
  /// Owners of weights whose gradients other workers make too, as users: brought together behind
  /// all reductions.
  std::vector<int> apart{};
  const cost::CostModel* cost = nullptr;  ///< null: without times and waits

  Item& item(int index) { return schedule.item(index); }
  const Item& item(int index) const { return schedule.item(index); }
  int size() const { return static_cast<int>(schedule.items.size()); }
};

/// `cost`: also how long items take and what they wait for, for strategies that order them by a
/// play.
Graph derive(Schedule schedule, const cost::CostModel* cost = nullptr);

// The steps of derive.

/// `item` waits and, where that is on another worker, for so many bytes. Only where there is a
/// cost.
void add_wait(Graph& graph, int item, Wait wait, double bytes = 0);

/// Finds from what the listed items read and write what must travel between workers.
void find_deliveries(Graph& graph);

/// Appends what follows from who computes which gradients: sums over workers that share a block,
/// clipping, updates, copies of weights. Sets which backward_weights add to a gradient.
void add_sums(Graph& graph);

/// Blocks in the order in which their gradients become complete; buckets are closed as soon as they
/// hold `bucket_bytes`, a number of them being `wire_bytes`.
std::vector<plan::Bucket> gradient_buckets(const plan::Network& network,
                                           const std::vector<int>& blocks,
                                           std::int64_t bucket_bytes, int wire_bytes);

}  // namespace plait::lower
