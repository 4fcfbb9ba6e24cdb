// Words of the settings as values. The table has refused unknown ones: here they are a bug.
#include "strategy/pipeline/request.hpp"

#include <stdexcept>

namespace plait::strategy {

namespace {

plan::OldWeights old_weights(const std::string& word) {
  for (const plan::OldWeights how :
       {plan::OldWeights::stash, plan::OldWeights::rebuilt, plan::OldWeights::predicted}) {
    if (word == name_of(how)) return how;
  }
  throw std::logic_error("unchecked setting: weights " + word);
}

CutPlaces cut_places(const std::string& word) {
  if (word == "borders") return CutPlaces::borders;
  if (word == "tasks") return CutPlaces::tasks;
  if (word == "samples") return CutPlaces::samples;
  throw std::logic_error("unchecked setting: cuts " + word);
}

}  // namespace

PipelineRequest pipeline_request(const PipelineOptions& options) {
  return {.asynchronous = options.pipeline == "async",
          .weights = old_weights(options.weights),
          .cuts = cut_places(options.cuts),
          .in_flight = static_cast<int>(options.in_flight),
          .max_staleness =
              static_cast<int>(whole_number(options.max_staleness).value_or(kPipeDreamStaleness))};
}

}  // namespace plait::strategy
