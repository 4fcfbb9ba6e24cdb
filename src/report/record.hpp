// The record of a run: what the report page shows beside config.toml and metrics.jsonl. Kept in the
// run folder as report.json, so that a page can be made again, alone or beside other runs.
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

#include "plan/plan.hpp"
#include "trace/trace.hpp"

namespace plait::report {

/// What the simulator expected of the plan.
struct Prediction {
  std::string source{};  ///< of the costs: "analytic", "profile vgg16.json"
  double step_seconds = 0;
  double utilisation = 0;
  trace::Trace trace{};
};

struct MachineFacts {
  std::string processor{};
  int cores = 0;
  bool mpi = false;
};

struct RecordParts {
  const plan::Plan& plan;
  const Prediction& prediction;
  const trace::Trace* trace = nullptr;  ///< as it was; null while the run goes on
  nlohmann::ordered_json result{};  ///< as `plait train --json` prints it; null while it goes on
  MachineFacts machine{};
  std::vector<std::string> tasks{};  ///< in words, per worker
};

/// check_record takes it.
nlohmann::ordered_json record_json(const RecordParts& parts);

}  // namespace plait::report
