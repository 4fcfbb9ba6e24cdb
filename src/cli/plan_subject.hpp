// What plait plan is asked: a network with its costs, machines, strategies.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/verb.hpp"
#include "session/costs.hpp"

namespace plait::cli {

/// The network and what its tasks cost.
struct PlanSubject {
  plan::Network network;
  std::string model;  ///< as the user names it
  std::int64_t batch = 64;
  session::TrainConfig settings;        ///< those of costs
  std::optional<session::Costs> costs;  ///< nothing: still to be counted or measured
};

PlanSubject plan_subject(const Arguments& arguments);
/// Of plait plan --plan FILE; held against --model where one is named.
plan::Plan plan_in_file(const Arguments& arguments, const std::string& file);
/// Counts or measures, where no profile has the costs.
void settle_costs(PlanSubject& subject, const Arguments& arguments,
                  const std::vector<plan::Machine>& machines);
/// One machine per number of --workers.
std::vector<plan::Machine> plan_machines(const Arguments& arguments);
std::vector<std::string> wanted_strategies(const Arguments& arguments);

}  // namespace plait::cli
