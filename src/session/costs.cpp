// The sources of costs, and plans made until they need no cost that is unknown.
#include "session/costs.hpp"

#include <algorithm>

#include "cost/measured.hpp"
#include "planner/cost_settings.hpp"

namespace plait::session {

namespace {

constexpr int kMostRounds = 16;

bool has_unknown(const cost::ProfileFile& profile, const plan::Network& network) {
  for (int b = 0; b < network.size(); ++b) {
    const bool added = network.blocks[static_cast<std::size_t>(b)].added;
    if (added && !cost::knows_added(profile, network, b)) return true;
  }
  return false;
}

}  // namespace

std::string threads_text(int threads) {
  return fmt::format("{} thread{} per worker", threads, threads == 1 ? "" : "s");
}

std::optional<Costs> Costs::unmeasured(const plan::Network& network,
                                       const planner::CostSettings& settings) {
  if (const auto array = planner::systolic_array(settings)) {
    return given(network, cost::make_systolic_cost(network, *array));
  }
  if (settings.cost == "analytic") return counted(network, planner::rates_of(settings));
  return std::nullopt;
}

Costs Costs::counted(const plan::Network& network, const cost::AnalyticRates& rates) {
  Costs costs;
  costs.network_ = network;
  costs.model_ = cost::make_analytic_cost(network, rates);
  costs.text_ = fmt::format(
      "counted for {:g} GFLOP/s x {:g} and {:g} GB/s per worker, not measured",
      1e-9 * rates.flops_per_second, rates.efficiency, 1e-9 * rates.memory_bytes_per_second);
  return costs;
}

Costs Costs::profiled(const cost::ProfileFile& profile, const plan::Network& network,
                      const std::string& name) {
  Costs costs;
  costs.network_ = network;
  costs.profile_ = profile;
  costs.name_ = name;
  costs.model_ = cost::make_measured_cost(profile, network, name);
  costs.text_ = fmt::format("{}, {}", costs.model_->source(), threads_text(profile.threads));
  return costs;
}

Costs Costs::given(const plan::Network& network, std::unique_ptr<cost::CostModel> model) {
  Costs costs;
  costs.network_ = network;
  costs.model_ = std::move(model);
  costs.text_ = costs.model_->source();
  return costs;
}

plan::Plan Costs::plan(const std::function<plan::Plan(const cost::CostModel&)>& make) {
  if (!base_) return make(*model_);
  cost::ProfileFile known = *base_;
  plan::Plan plan = make(*cost::make_measured_cost(known, network_, name_));
  for (int round = 0; round < kMostRounds && has_unknown(known, plan.network); ++round) {
    measure_added(plan.network, known);
    plan = make(*cost::make_measured_cost(known, network_, name_));
  }
  last_ = known;
  keep_all(known);
  return plan;
}

void Costs::freeze() {
  if (!base_) return;
  base_.reset();
  profile_ = std::move(last_);
  model_ = cost::make_measured_cost(*profile_, network_, name_);
}

}  // namespace plait::session
