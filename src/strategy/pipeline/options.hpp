// The settings of pipelines, with their table.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/setting.hpp"

namespace plait::strategy {

struct PipelineOptions {
  std::string pipeline = "sync";       ///< or async: weights some updates old
  std::string weights = "stash";       ///< of async: stash, rebuilt or predicted
  double stale_lr = 0;                 ///< rate of a block / (1 + its staleness)^this
  std::string max_staleness = "auto";  ///< of async: updates; auto: as PipeDream's
  std::string cuts = "samples";        ///< where pieces of layerpipe begin: or borders, tasks
  std::int64_t in_flight = 0;          ///< most microbatches on a worker; 0: the planner's choice
  bool operator==(const PipelineOptions&) const = default;
};

std::span<const Setting<PipelineOptions>> pipeline_settings();

}  // namespace plait::strategy
