// The default method: start, annealing sweeps over the layers in both directions, balance,
// annealing again. Effort follows from the size of the network.
#include "partition/merged.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "partition/anneal.hpp"
#include "partition/balance.hpp"
#include "partition/grow.hpp"
#include "partition/measure.hpp"
#include "partition/owners.hpp"
#include "partition/simple.hpp"

namespace plait::partition {
namespace {

/// How long to anneal, by the size of the network: never by the clock, so that two runs agree.
struct Effort {
  int sweeps = 0;
  double tries = 0;  ///< per vertex and sweep
};

Effort effort_for(const LayerChain& chain) {
  constexpr double kVisits = 1.2e9;  // of nets, in all: about a minute
  double nets = 0;                   // to look at for one try on every vertex
  for (const Stage& stage : chain.stages) {
    nets += 2.0 * static_cast<double>(stage.vertices() + stage.nets.item.size());
  }
  Effort effort;
  effort.sweeps = static_cast<int>(std::clamp(kVisits / (50 * nets), 20.0, 200.0));
  effort.tries = std::clamp(kVisits / (effort.sweeps * nets), 1.0, 50.0);
  return effort;
}

double mean_net(const LayerChain& chain) {
  double columns = 0;
  double nets = 0;
  for (const Stage& stage : chain.stages) {
    nets += static_cast<double>(stage.net_columns.size());
    columns += std::accumulate(stage.net_columns.begin(), stage.net_columns.end(), 0.0);
  }
  return nets > 0 ? columns / nets : 1;
}

/// From a value to another with equal factors.
struct Slope {
  double first = 0;
  double last = 0;
  double at(double share) const { return first * std::pow(last / first, share); }
};

class Sweeps {
 public:
  Sweeps(LayerChain& chain, std::uint64_t seed, Effort effort, StepCounter& progress)
      : chain_(chain), seed_(seed), effort_(effort), progress_(progress) {}

  /// slack: see AnnealStep::slack_price.
  void run(int count, Slope temperature, const Slope* slack) {
    for (int i = 0; i < count; ++i) {
      const double share = count > 1 ? static_cast<double>(i) / (count - 1) : 1;
      AnnealStep step;
      step.temperature = temperature.at(share);
      if (slack != nullptr) step.slack_price = slack->at(share);
      sweep(step);
    }
  }
  /// Takes improvements only.
  void descend() { sweep({}); }

 private:
  void sweep(AnnealStep step) {
    const std::size_t stages = chain_.stages.size();
    for (std::size_t i = 0; i < stages; ++i) {
      const std::size_t stage = number_ % 2 == 0 ? i : stages - 1 - i;
      const auto vertices = static_cast<double>(chain_.stages[stage].vertices());
      step.tries = static_cast<std::int64_t>(std::ceil(effort_.tries * vertices));
      StageCost cost(chain_, stage);
      if (worth_renaming(step.tries)) cost.rename();
      Rng rng(seed_, Purpose::shuffle, kPartitionStream + 1 + stage, number_);
      anneal(cost, chain_.tolerance, step, rng);
      chain_.part[stage] = cost.part();
      progress_.step();
    }
    ++number_;
  }
  /// Always while it is cheap, sometimes where it is not.
  bool worth_renaming(std::int64_t tries) const {
    return std::pow(chain_.parts, 3) < 2 * static_cast<double>(tries) || number_ % 16 < 2;
  }

  LayerChain& chain_;
  std::uint64_t seed_;
  Effort effort_;
  StepCounter& progress_;
  std::uint64_t number_ = 0;
};

std::int64_t volume(SparseLayers layers, const Partition& partition) {
  return measure_partition(layers, partition).volume_words;
}

void rename_all(LayerChain& chain) {
  for (std::size_t k = 0; k < chain.stages.size(); ++k) {
    StageCost cost(chain, k);
    cost.rename();
    chain.part[k] = cost.part();
  }
}

/// Grown parts, or contiguous ones where the layers' own order is better.
LayerChain started(SparseLayers layers, const PartitionOptions& options) {
  LayerChain grown{
      make_stages(layers, options.own_input, true), {}, options.parts, options.tolerance};
  for (const Stage& stage : grown.stages) grown.part.push_back(grown_parts(stage, options.parts));
  LayerChain ordered = grown;
  for (std::size_t k = 0; k < ordered.stages.size(); ++k) {
    ordered.part[k] = ordered_parts(ordered.stages[k], options.parts);
  }
  rename_all(grown);
  rename_all(ordered);
  const bool better = volume(layers, to_partition(ordered, options.own_input)) <
                      volume(layers, to_partition(grown, options.own_input));
  return better ? ordered : grown;
}

void annealed(LayerChain& chain, const PartitionOptions& options, Effort effort,
              StepCounter& progress) {
  const double net = mean_net(chain);  // the words of one net more to read
  const double hot = effort.sweeps >= 100 ? 0.4 : 0.25;
  const Slope slack{net / 32, net / 4};
  Sweeps sweeps(chain, options.seed, effort, progress);
  const int soft = effort.sweeps * 7 / 10;
  sweeps.run(soft, {hot * net, 0.1 * net}, &slack);
  for (std::size_t k = 0; k < chain.stages.size(); ++k) balance_stage(chain, k);
  sweeps.run(effort.sweeps - soft, {0.1 * net, std::min(0.4, 0.1 * net)}, nullptr);
  sweeps.descend();
  sweeps.descend();
}

}  // namespace

Partition merged_partition(SparseLayers layers, const PartitionOptions& options) {
  if (options.parts == 1) return block_partition(layers, options);
  LayerChain chain = started(layers, options);
  const Effort effort = effort_for(chain);
  StepCounter progress(options.progress,
                       (effort.sweeps + 2) * static_cast<int>(chain.stages.size()));
  annealed(chain, options, effort, progress);
  Partition best = to_partition(chain, options.own_input);
  PartitionOptions quiet = options;
  quiet.progress = {};
  for (Partition other : {block_partition(layers, quiet), random_partition(layers, quiet)}) {
    const PartitionMeasure its = measure_partition(layers, other);
    const PartitionMeasure ours = measure_partition(layers, best);
    const bool balanced = its.imbalance <= std::max(options.tolerance, ours.imbalance);
    if (balanced && its.volume_words < ours.volume_words) best = std::move(other);
  }
  return best;
}

}  // namespace plait::partition
