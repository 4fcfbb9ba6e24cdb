// What plait plan is asked: a network with its costs, machines, strategies.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/verb.hpp"
#include "cost/cost_model.hpp"

namespace plait {

/// The network and what its tasks cost.
struct PlanSubject {
  Network network;
  std::unique_ptr<CostModel> cost;
  std::int64_t batch = 64;
};

PlanSubject plan_subject(const Arguments& arguments);
/// One machine per number of --workers.
std::vector<Machine> plan_machines(const Arguments& arguments);
/// Of a number on the wire; UserError on an unknown word.
int wire_bytes_of(const std::string& type);
std::vector<std::string> wanted_strategies(const Arguments& arguments);

}  // namespace plait
