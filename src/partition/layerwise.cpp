// Each layer as a hypergraph with the parts of the layer before it as fixed vertices, given to
// Zoltan.
#include "partition/layerwise.hpp"

#include <map>

#include "partition/balance.hpp"
#include "partition/grow.hpp"
#include "partition/owners.hpp"

namespace plait::partition {

Hypergraph stage_hypergraph(const LayerChain& chain, std::size_t stage) {
  const Stage& here = chain.stages[stage];
  Hypergraph graph;
  for (std::size_t v = 0; v < here.vertices(); ++v) graph.weight.push_back(here.weight(v));
  std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t> columns;  // per net and owner
  for (std::size_t column = 0; column < here.net_of_column.size(); ++column) {
    const std::int32_t net = here.net_of_column[column];
    if (net < 0) continue;
    const auto source = static_cast<std::size_t>(chain.stages[stage - 1].vertex_of_row[column]);
    ++columns[{net, chain.part[stage - 1][source]}];
  }
  for (const auto& [where, count] : columns) {
    const auto pins = here.pins[static_cast<std::size_t>(where.first)];
    std::vector<std::int32_t> list(pins.begin(), pins.end());
    list.push_back(static_cast<std::int32_t>(here.vertices()) + where.second);
    graph.pins.push_back(list);
    graph.cost.push_back(2 * count);
  }
  return graph;
}

Partition zoltan_partition(SparseLayers layers, const PartitionOptions& options) {
  LayerChain chain{
      make_stages(layers, options.own_input, false), {}, options.parts, options.tolerance};
  chain.part.resize(chain.stages.size());
  StepCounter progress(options.progress, static_cast<int>(chain.stages.size()));
  for (std::size_t k = 0; k < chain.stages.size(); ++k) {
    const Hypergraph graph = stage_hypergraph(chain, k);
    chain.part[k] = graph.cost.empty()
                        ? grown_parts(chain.stages[k], options.parts)
                        : zoltan_parts(graph, options.parts, options.tolerance, options.seed + k);
    balance_stage(chain, k);
    progress.step();
  }
  return to_partition(chain, options.own_input);
}

}  // namespace plait::partition
