// Refusals of cost settings that have no meaning together, and counted costs' rates.
#include "planner/cost_settings.hpp"

#include <type_traits>

#include "base/error.hpp"

namespace plait::planner {

namespace {

/// The numbers among them are of counted costs.
void check_speeds(const CostSettings& settings) {
  const CostSettings usual;
  for (const Setting<CostSettings>& row : cost_settings()) {
    std::visit(
        [&](auto member) {
          const auto& value = settings.*member;
          if constexpr (std::is_same_v<std::remove_cvref_t<decltype(value)>, double>) {
            if (value == usual.*member) return;
            setting_error(row.key, value, "is the speed of another machine; add `cost` analytic");
          }
        },
        row.member);
  }
}

double above_zero(const char* key, double value) {
  if (!(value > 0)) setting_error(key, value, "must be above 0");
  return value;
}

}  // namespace

void check_cost_settings(const CostSettings& settings) {
  check_settings(settings, cost_settings());
  if (!systolic_array(settings)) {
    check_choice("cost", settings.cost, "auto, measured, again, analytic, systolic:128x128");
  }
  if (!settings.profile.empty() && settings.cost != "auto") {
    setting_error("profile", settings.profile, "and `cost` {} exclude each other; leave one away",
                  settings.cost);
  }
  if (settings.cost != "analytic") check_speeds(settings);
  rates_of(settings);
}

std::optional<cost::SystolicArray> systolic_array(const CostSettings& settings) {
  constexpr std::string_view kSystolic = "systolic:";
  if (!settings.cost.starts_with(kSystolic)) return std::nullopt;
  return cost::parse_systolic_array(std::string_view(settings.cost).substr(kSystolic.size()),
                                    "cost");
}

bool measures_costs(const CostSettings& settings) {
  return settings.profile.empty() && settings.cost != "analytic" && !systolic_array(settings);
}

cost::AnalyticRates rates_of(const CostSettings& settings) {
  if (settings.peak_share > 1) {
    setting_error("peak_share", settings.peak_share, "must be at most 1");
  }
  return {.flops_per_second = 1e9 * above_zero("peak_gflops", settings.peak_gflops),
          .efficiency = above_zero("peak_share", settings.peak_share),
          .memory_bytes_per_second = 1e9 * above_zero("memory_gbs", settings.memory_gbs)};
}

}  // namespace plait::planner
