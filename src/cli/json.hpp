// Results as one JSON object each: the fields that scripts rely on. No newline at the end; a number
// that is not finite becomes null.
#pragma once

#include <optional>
#include <string>

#include "report/breakdown.hpp"
#include "run/evaluate.hpp"
#include "session/train.hpp"

namespace plait::cli {

std::string to_json(const session::TrainResult& result,
                    const std::optional<report::Straggler>& straggler);

struct EvalResult {
  std::string model;
  std::string data;
  std::string weights;  ///< the file
  run::Evaluation evaluation;
};

std::string to_json(const EvalResult& result);

}  // namespace plait::cli
