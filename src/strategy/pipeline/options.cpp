// The table of the settings of pipelines.
#include "strategy/pipeline/options.hpp"

namespace plait::strategy {

std::span<const Setting<PipelineOptions>> pipeline_settings() {
  using O = PipelineOptions;
  static const std::vector<Setting<O>> rows{
      {.key = "pipeline",
       .member = &O::pipeline,
       .group = "Pipelines",
       .value = "MODE",
       .help = "layerpipe: sync, or async (weights some updates old)",
       .choices = "sync, async",
       .used_by =
           "layerpipe, layerpipe-replicated, pipedream, pipedream-replicated, pipedream-2bw"},
      {.key = "weights",
       .member = &O::weights,
       .group = "Pipelines",
       .value = "HOW",
       .help = "async pipelines: weights of the backward pass: stash, rebuilt or predicted",
       .choices = "stash, rebuilt, predicted",
       .used_by =
           "layerpipe, layerpipe-replicated, pipedream, pipedream-replicated, pipedream-2bw"},
      {.key = "stale_lr",
       .member = &O::stale_lr,
       .group = "Pipelines",
       .value = "X",
       .help = "divide the learning rate of a block by (1 + staleness)^X; 0: do not",
       .bounds = {0, 10},
       .used_by = "layerpipe, layerpipe-replicated, pipedream, pipedream-replicated, pipedream-2bw",
       .decides_plan = false},
      {.key = "max_staleness",
       .member = &O::max_staleness,
       .group = "Pipelines",
       .value = "N|auto",
       .help = "async: most updates that weights are old; auto: PipeDream's, workers - 1",
       .bounds = {0, 1 << 16},
       .choices = "auto",
       .used_by = "layerpipe, layerpipe-replicated, pipedream, pipedream-replicated"},
      {.key = "cuts",
       .member = &O::cuts,
       .group = "Pipelines",
       .value = "WHERE",
       .help = "layerpipe: where pieces may begin: at borders of blocks, between the tasks of a "
               "block, or samples: between those of its backward_data too",
       .choices = "borders, tasks, samples",
       .used_by = "layerpipe, layerpipe-replicated",
       .decides_bits = false},
      {.key = "in_flight",
       .member = &O::in_flight,
       .group = "Pipelines",
       .value = "N",
       .help = "layerpipe: most microbatches in flight on a worker; 0: the planner chooses",
       .bounds = {0, 1 << 20},
       .used_by = "layerpipe, layerpipe-replicated",
       .decides_bits = false},
  };
  return rows;
}

}  // namespace plait::strategy
