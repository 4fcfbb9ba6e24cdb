// The table of the settings that decide a plan.
#include "planner/settings.hpp"

#include "base/error.hpp"
#include "planner/choice.hpp"
#include "planner/cost_settings.hpp"
#include "strategy/strategy.hpp"

namespace plait::planner {

std::span<const Setting<CostSettings>> cost_settings() {
  using O = CostSettings;
  static const std::vector<Setting<O>> rows{
      {.key = "cost",
       .member = &O::cost,
       .group = "Costs for the planner",
       .value = "HOW",
       .help = "measured (here, once: kept in the cache), again (here, now), analytic (counted, "
               "for another machine), systolic:128x128 (clock cycles of such an array), or auto: "
               "measured where several workers share the work",
       .decides_bits = false,
       .decides_plan = false},
      {.key = "profile",
       .member = &O::profile,
       .group = "Costs for the planner",
       .value = "FILE",
       .help = "costs from plait profile `out`",
       .decides_bits = false,
       .decides_plan = false},
      {.key = "peak_gflops",
       .member = &O::peak_gflops,
       .group = "Costs for the planner",
       .value = "X",
       .help = "`cost` analytic: fp32 GFLOP/s of a worker at its peak",
       .decides_bits = false,
       .decides_plan = false},
      {.key = "peak_share",
       .member = &O::peak_share,
       .group = "Costs for the planner",
       .value = "X",
       .help = "`cost` analytic: share of the peak that convolutions reach",
       .decides_bits = false,
       .decides_plan = false},
      {.key = "memory_gbs",
       .member = &O::memory_gbs,
       .group = "Costs for the planner",
       .value = "X",
       .help = "`cost` analytic: GB/s of memory of a worker",
       .decides_bits = false,
       .decides_plan = false},
  };
  return rows;
}

namespace {

std::vector<Setting<PlanSettings>> make_rows() {
  using O = PlanSettings;
  std::vector<Setting<O>> rows{
      {.key = "batch",
       .member = &O::batch,
       .group = "Length",
       .value = "N",
       .help = "samples per update",
       .bounds = {1, 1 << 24}},
      {.key = "strategy",
       .member = &O::strategy,
       .group = "Machine",
       .value = "NAME",
       .help = "how the work is divided: serial, data_parallel, layerpipe, ... (plait plan `help` "
               "lists all), or auto: the fastest that is plain SGD",
       .decides_bits = false},
      {.key = "microbatches",
       .member = &O::microbatches,
       .group = "Machine",
       .value = "N",
       .help = "number of parts a worker's share of a batch is split into",
       .bounds = {1, 1 << 20}},
      {.key = "partition",
       .member = &O::partition,
       .group = "Machine",
       .value = "HOW",
       .help = "sparse_rows: FILE of plait partition, or merged, zoltan, block, random",
       .used_by = "sparse_rows"},
      {.key = "memory_per_worker",
       .member = &O::memory_per_worker,
       .group = "Machine",
       .value = "MiB",
       .help = "most memory of a worker, data included; 0: what the machine has free",
       .bounds = {0, static_cast<double>(std::int64_t{1} << 40)},
       .decides_bits = false},
      {.key = "bucket_mb",
       .member = &O::bucket_mb,
       .group = "Machine",
       .value = "X",
       .help = "MiB of gradients reduced at a time",
       .bounds = {1e-6, 1e6},
       .decides_bits = false},
      {.key = "wire",
       .member = &O::wire,
       .group = "Machine",
       .value = "TYPE",
       .help = "type of gradients on the wire: fp32 or bf16",
       .choices = "fp32, bf16"},
      {.key = "seed",
       .member = &O::seed,
       .group = "Machine",
       .value = "N",
       .help = "seed of all random numbers"},
  };
  inherit(rows, strategy::pipeline_settings());
  inherit(rows, strategy::parareal_settings());
  inherit(rows, strategy::replica_settings());
  inherit(rows, cost_settings());
  return rows;
}

}  // namespace

std::span<const Setting<PlanSettings>> plan_settings() {
  static const std::vector<Setting<PlanSettings>> rows = make_rows();
  return rows;
}

void check_plan_settings(const PlanSettings& settings) {
  check_settings(settings, plan_settings());
  check_cost_settings(settings);
  if (settings.outer_momentum < 0 && settings.outer_momentum != -1) {
    setting_error("outer_momentum", settings.outer_momentum,
                  "is out of range; it must be between 0 and 1, or -1 (chosen)");
  }
  if (settings.strategy != kAutoStrategy) strategy::check_strategy(settings.strategy);
  strategy::check_strategy(settings.inner, "inner");
  strategy::check_microbatches(settings.microbatches, settings.batch);
}

}  // namespace plait::planner
