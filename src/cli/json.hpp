// Results as one JSON object each: the fields that scripts rely on. No newline at the end; a number
// that is not finite becomes null.
#pragma once

#include <nlohmann/json.hpp>

#include <optional>
#include <string>

#include "report/breakdown.hpp"
#include "run/evaluate.hpp"
#include "session/train.hpp"

namespace plait::cli {

nlohmann::ordered_json to_json(const session::TrainResult& result,
                               const std::optional<report::Straggler>& straggler);

struct EvalResult {
  std::string model;
  std::string data;
  std::string weights;  ///< the file
  run::Evaluation evaluation;
};

nlohmann::ordered_json to_json(const EvalResult& result);

/// Names may come from files in any encoding; a result must come out all the same.
std::string json_text(const nlohmann::ordered_json& json);

}  // namespace plait::cli
