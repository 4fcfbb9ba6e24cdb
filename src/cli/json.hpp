// Results as one JSON object each: the fields that scripts rely on. No newline at the end; a number
// that is not finite becomes null.
#pragma once

#include <optional>
#include <string>

#include "report/breakdown.hpp"
#include "run/evaluate.hpp"
#include "session/train.hpp"

namespace plait {

std::string to_json(const TrainResult& result, const std::optional<Straggler>& straggler);

struct EvalResult {
  std::string model;
  std::string data;
  std::string weights;  ///< the file
  Evaluation evaluation;
};

std::string to_json(const EvalResult& result);

}  // namespace plait
