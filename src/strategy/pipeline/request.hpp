// What pipelines can be told beside the number of microbatches, and the settings as such.
#pragma once

#include "plan/plan.hpp"
#include "strategy/pipeline/options.hpp"

namespace plait::strategy {

constexpr int kPipeDreamStaleness = -1;  ///< PipelineRequest::max_staleness: as PipeDream has

/// Where pieces of the line of tasks may begin.
enum class CutPlaces : std::uint8_t {
  borders,  ///< of blocks
  tasks,    ///< and between the tasks of a block
  samples   ///< and between the microbatches of a backward_data
};

struct PipelineRequest {
  bool asynchronous = false;
  plan::OldWeights weights = plan::OldWeights::stash;
  CutPlaces cuts = CutPlaces::samples;
  /// Most microbatches begun and not ended on a worker; 0: the planner's choice.
  int in_flight = 0;
  /// Of asynchronous ones: the most updates that any block's weights are old.
  int max_staleness = kPipeDreamStaleness;
};

/// Of settings that pass their table.
PipelineRequest pipeline_request(const PipelineOptions& options);

}  // namespace plait::strategy
