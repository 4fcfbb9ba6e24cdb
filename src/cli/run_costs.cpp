// Finds the costs of a run: a profile file, the resumed run's own, or measured ones, broadcast from
// worker 0.
#include "cli/run_costs.hpp"

#include <filesystem>
#include <span>

#include "base/error.hpp"
#include "cli/cost_cache.hpp"
#include "cli/cost_settings.hpp"
#include "cli/terminal.hpp"
#include "cost/open_profile.hpp"
#include "plan/json.hpp"

namespace plait {

namespace {

constexpr const char* kMeasured = "measured";

/// Worker 0's text on all of them.
void broadcast(Group& group, std::string& text) {
  std::uint64_t size = text.size();
  group.broadcast(std::as_writable_bytes(std::span(&size, 1)), 0);
  text.resize(size);
  if (size > 0) group.broadcast(std::as_writable_bytes(std::span(text)), 0);
}

}  // namespace

Costs& RunCosts::of(const Network& network) {
  if (!costs_) costs_ = find(network);
  return *costs_;
}

Plan RunCosts::plan(const ModelSpec& model, const std::function<Plan()>& make) {
  std::optional<Plan> plan;
  std::exception_ptr error;
  if (options_.mpi == nullptr || options_.mpi->rank() == 0) {
    try {
      plan = make();
      if (costs_) costs_->freeze();
    } catch (...) {
      error = std::current_exception();
    }
  }
  if (options_.mpi != nullptr) {
    const auto group = options_.mpi->control_group();
    std::string costs = error ? "" : text_to_keep();
    std::string text = error ? "" : to_json(*plan);
    broadcast(*group, costs);
    broadcast(*group, text);
    if (options_.mpi->rank() > 0) {
      if (text.empty()) fail("worker 0 has no plan");  // and says why
      from_worker_0_ = costs;
      plan = plan_from_json(text, "the plan of worker 0", model);
    }
  }
  if (error) std::rethrow_exception(error);
  return std::move(*plan);
}

std::string RunCosts::text_to_keep() const {
  const bool measured =
      costs_ && costs_->profile() != nullptr && costs_->model().source() == kMeasured;
  return measured ? print_profile(*costs_->profile()) : "";
}

Costs RunCosts::find(const Network& network) const {
  if (!config_.profile.empty()) return of_profile(network);
  if (config_.cost == "analytic") return Costs::counted(network, rates_of(config_));
  if (from_worker_0_) {
    if (from_worker_0_->empty()) return Costs::counted(network, {});
    return Costs::profiled(parse_profile(*from_worker_0_, "worker 0"), network, kMeasured);
  }
  if (auto costs = of_resumed_run(network)) return std::move(*costs);
  if (config_.cost == "auto") {
    if (options_.workers == 1) return Costs::counted(network, {});
    if (const std::string problem = CostCache(cost_cache_folder()).problem(); !problem.empty()) {
      if (!options_.quiet) {
        tell("costs are counted: measured ones cannot be kept for the next run ({})\n", problem);
      }
      return Costs::counted(network, {});
    }
  }
  return Costs::measured({.network = network,
                          .model = config_.model,
                          .batch = config_.batch,
                          .microbatches = config_.microbatches,
                          .threads = options_.threads},
                         config_.cost == "again" ? Freshness::now : Freshness::cached,
                         options_.quiet);
}

Costs RunCosts::of_profile(const Network& network) const {
  ProfileSource source = open_profile(config_.profile);
  const auto* ours = std::get_if<ProfileFile>(&source);
  if (ours == nullptr) {
    user_error(
        "--profile {} is a published profile of another network; "
        "measure this one with "
        "plait profile --model {} --out FILE",
        config_.profile, config_.model);
  }
  return Costs::profiled(*ours, network);
}

std::optional<Costs> RunCosts::of_resumed_run(const Network& network) const {
  namespace fs = std::filesystem;
  const fs::path folder = config_.run_dir;
  std::error_code error;
  if (!config_.resume || config_.cost == "again" || !fs::exists(folder / "config.toml", error)) {
    return std::nullopt;
  }
  const fs::path file = folder / "costs.json";
  if (fs::exists(file, error)) {
    return Costs::profiled(read_profile(file.string()), network, kMeasured);
  }
  if (config_.cost == "auto") return Costs::counted(network, {});
  return std::nullopt;
}

}  // namespace plait
