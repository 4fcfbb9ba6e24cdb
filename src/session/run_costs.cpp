// Finds the costs of a run: of a profile file, of the resumed run, of another worker, or measured.
#include "session/run_costs.hpp"

#include <filesystem>

#include "base/error.hpp"
#include "cost/open_profile.hpp"
#include "session/cost_cache.hpp"

namespace plait::session {

namespace {

constexpr const char* kMeasured = "measured";

}  // namespace

Costs& RunCosts::of(const plan::Network& network) {
  if (!costs_) costs_ = find(network);
  return *costs_;
}

void RunCosts::freeze() {
  if (costs_) costs_->freeze();
}

std::string RunCosts::text() const {
  const bool measured =
      costs_ && costs_->profile() != nullptr && costs_->model().source() == kMeasured;
  return measured ? cost::print_profile(*costs_->profile()) : "";
}

Costs RunCosts::find(const plan::Network& network) const {
  if (!config_.profile.empty()) return of_profile(network);
  if (auto costs = Costs::unmeasured(network, config_)) return std::move(*costs);
  if (taken_) {
    if (taken_->empty()) return Costs::counted(network, {});
    return Costs::profiled(cost::parse_profile(*taken_, "worker 0"), network, kMeasured);
  }
  if (auto costs = of_resumed_run(network)) return std::move(*costs);
  if (config_.cost == "auto") {
    if (options_.workers == 1) return Costs::counted(network, {});
    if (const std::string problem = CostCache(cost_cache_folder()).problem(); !problem.empty()) {
      options_.progress.note(fmt::format(
          "costs are counted: measured ones cannot be kept for the next run ({})", problem));
      return Costs::counted(network, {});
    }
  }
  return Costs::measured({.network = network,
                          .model = config_.model,
                          .batch = config_.batch,
                          .microbatches = config_.microbatches,
                          .threads = options_.threads},
                         config_.cost == "again" ? Freshness::now : Freshness::cached,
                         options_.progress);
}

Costs RunCosts::of_profile(const plan::Network& network) const {
  cost::ProfileSource source = cost::open_profile(config_.profile);
  const auto* ours = std::get_if<cost::ProfileFile>(&source);
  if (ours == nullptr) {
    user_error(
        "`profile` {} is a published profile of another network; measure this one with "
        "plait profile `model` {} `out` FILE",
        config_.profile, config_.model);
  }
  return Costs::profiled(*ours, network);
}

std::optional<Costs> RunCosts::of_resumed_run(const plan::Network& network) const {
  namespace fs = std::filesystem;
  const fs::path folder = config_.run_dir;
  std::error_code error;
  if (!config_.resume || config_.cost == "again" || !fs::exists(folder / "config.toml", error)) {
    return std::nullopt;
  }
  const fs::path file = folder / "costs.json";
  if (fs::exists(file, error)) {
    return Costs::profiled(cost::read_profile(file.string()), network, kMeasured);
  }
  if (config_.cost == "auto") return Costs::counted(network, {});
  return std::nullopt;
}

}  // namespace plait::session
