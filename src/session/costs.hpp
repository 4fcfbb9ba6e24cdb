// The costs that plans are made with: counted, of a profile, or measured on this machine (from the
// cache, or now). Who plans with measured costs has the blocks that a strategy adds measured too.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "cost/analytic.hpp"
#include "cost/profile_file.hpp"
#include "plan/plan.hpp"
#include "session/config.hpp"

namespace plait::session {

/// What is measured: a network as a worker of a plan sees it.
struct CostSubject {
  plan::Network network;
  std::string model;  ///< as the user names it
  std::int64_t batch = 64;
  std::int64_t microbatches = 1;
  int threads = 1;
};

/// "2 threads per worker".
std::string threads_text(int threads);

/// What is being measured.
struct MeasuringStep {
  std::string what;   ///< a network
  std::string part;   ///< "batch 32", "2 workers at once"; "": it begins
  bool whole = true;  ///< the model, not blocks that a strategy adds
  bool ended = false;
};

/// Told what happens while costs are found out; either may be null.
struct CostProgress {
  std::function<void(const std::string& line)> on_note{};
  std::function<void(const MeasuringStep& step)> on_step{};

  void note(const std::string& line) const {
    if (on_note && !line.empty()) on_note(line);
  }
  void step(const MeasuringStep& step) const {
    if (on_step) on_step(step);
  }
};

enum class Freshness { cached, now };  ///< measured costs: from the cache where it has them, or not

class Costs {
 public:
  /// What the settings say without a profile or a measurement: counted, or cycles of an array.
  static std::optional<Costs> unmeasured(const plan::Network& network,
                                         const planner::CostSettings& settings);
  static Costs counted(const plan::Network& network, const cost::AnalyticRates& rates);
  /// `name`: as in make_measured_cost.
  static Costs profiled(const cost::ProfileFile& profile, const plan::Network& network,
                        const std::string& name = "");
  /// As the model says.
  static Costs given(const plan::Network& network, std::unique_ptr<cost::CostModel> model);
  /// Counted where the memory does not suffice.
  static Costs measured(const CostSubject& subject, Freshness freshness,
                        const CostProgress& progress);

  const cost::CostModel& model() const { return *model_; }
  /// All that has been measured; null where costs are counted or published.
  const cost::ProfileFile* profile() const { return profile_ ? &*profile_ : nullptr; }
  /// For people: "measured on this machine just now, 1 thread per worker".
  const std::string& text() const { return text_; }
  /// Why measured costs could not be kept; "" where they are.
  const std::string& cache_problem() const { return problem_; }

  /// The plan that `make` gives with these costs. Where they are measured here and the plan has
  /// blocks of its own, these are measured and the plan is made again, until it has no others:
  /// whatever was planned before, equal requests have equal plans.
  plan::Plan plan(const std::function<plan::Plan(const cost::CostModel&)>& make);
  /// From now on plan() measures nothing, and plans with what the last one was made with.
  void freeze();

 private:
  Costs() = default;
  /// One network, cached.
  cost::ProfileFile measure(const plan::Network& network, const std::string& name, bool whole);
  cost::ProfileFile measure_now(const plan::Network& network, const std::string& shown,
                                bool whole) const;
  /// Adds the blocks of `torn` that `known` lacks.
  void measure_added(const plan::Network& torn, cost::ProfileFile& known);
  void keep_all(const cost::ProfileFile& known);

  plan::Network network_;
  std::unique_ptr<cost::CostModel> model_;
  std::optional<cost::ProfileFile> profile_;
  std::string name_;  ///< source() of the model
  std::string text_;
  std::string problem_;
  std::optional<CostSubject> subject_;                        ///< of costs measured here
  std::optional<cost::ProfileFile> base_;                     ///< without added blocks
  cost::ProfileFile last_{};                                  ///< with those of the last plan
  std::map<std::string, cost::ProfileFile> measured_here_{};  ///< by file of the cache
  std::string machine_;
  std::vector<std::int64_t> batches_{};  ///< that are measured
  Freshness freshness_ = Freshness::cached;
  bool measured_now_ = false;
  CostProgress progress_{};
};

}  // namespace plait::session
