// PlanSettings: everything that decides a plan beside the network and the machine, with one table.
// `plait plan`, `plait train` and library users fill the same struct.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "strategy/parareal/options.hpp"
#include "strategy/pipeline/options.hpp"
#include "strategy/replicas/options.hpp"

namespace plait::planner {

/// Where the costs that plans are made with come from.
struct CostSettings {
  std::string cost = "auto";  ///< measured, again, analytic; auto: measured for several workers
  std::string profile;        ///< a file of measured costs
  double peak_gflops = 96;    ///< of a worker; cost analytic
  double peak_share = 0.6;    ///< of it that convolutions reach
  double memory_gbs = 10;     ///< GB/s of a worker
  bool operator==(const CostSettings&) const = default;
};

std::span<const Setting<CostSettings>> cost_settings();

struct PlanSettings : strategy::PipelineOptions,
                      strategy::PararealOptions,
                      strategy::ReplicaOptions,
                      CostSettings {
  std::string strategy = "serial";
  std::int64_t batch = 64;
  std::int64_t microbatches = 1;
  std::string partition = "merged";    ///< of sparse_rows: a method, or a file of one
  std::int64_t memory_per_worker = 0;  ///< MiB; 0: not limited
  double bucket_mb = 8;                ///< MiB of gradients reduced at a time
  std::string wire = "fp32";           ///< of reduced gradients
  std::uint64_t seed = 1;
  bool operator==(const PlanSettings&) const = default;
};

/// All rows, those of the strategies included. Plans do not follow from rows of the training
/// (Setting::decides_plan is false), nor from those that say where costs come from.
std::span<const Setting<PlanSettings>> plan_settings();

/// UserError on a value that a row does not allow, or on an unknown strategy.
void check_plan_settings(const PlanSettings& settings);

}  // namespace plait::planner
