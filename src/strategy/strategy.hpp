// A strategy is a function: network x machine x cost -> plan. This is the list of them; nobody else
// knows their names.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "cost/cost_model.hpp"
#include "strategy/parareal/coarse.hpp"
#include "strategy/replicas/exchange_request.hpp"

namespace plait {

constexpr int kPipeDreamStaleness = -1;  ///< PipelineRequest::max_staleness: as PipeDream has

/// What pipelines can be told beside the number of microbatches.
struct PipelineRequest {
  bool asynchronous = false;
  OldWeights weights = OldWeights::stash;
  /// Most microbatches begun and not ended on a worker; 0: the planner's choice.
  int in_flight = 0;
  bool replicate = true;  ///< stages may have several workers
  /// Of asynchronous ones: the most updates that any block's weights are old.
  int max_staleness = kPipeDreamStaleness;
};

/// From the words of flags: "sync" or "async"; "stash", "rebuilt", "predicted" or "ring". UserError
/// on others.
PipelineRequest pipeline_request(const std::string& mode, const std::string& weights,
                                 std::int64_t in_flight, bool replicate);

/// PipelineRequest::max_staleness from the words of a flag: "auto" or a number. UserError on
/// others.
int staleness_limit(const std::string& text);

constexpr int kBestPieces = -1;  ///< TearRequest::pieces: as many as are fastest

/// What strategies that tear the depth can be told.
struct TearRequest {
  int pieces = 0;    ///< 0: one per worker
  int replicas = 0;  ///< of every piece; 0: one, or the planner's choice with kBestPieces
  int sweeps = 1;
  CoarseKind coarse = CoarseKind::block;
  bool half_wire = false;  ///< what crosses interfaces travels as bf16
  /// The blocks that the pieces but the first begin with; empty: balanced by cost.
  std::vector<int> cuts{};
};

/// From the words of flags: "auto" or a number; "fp32" or "bf16". UserError on others.
TearRequest tear_request(const std::string& pieces, std::int64_t replicas, std::int64_t sweeps,
                         const std::string& coarse, const std::string& wire);

/// Per linear layer of the network, per row: a worker.
using RowOwners = std::vector<std::vector<std::int32_t>>;
/// Who shall own the rows of these layers, each of which reads the one before it.
using RowPartitioner = std::function<RowOwners(
    const std::vector<std::shared_ptr<const SparsePattern>>& layers, int workers)>;

/// UserError ("did you mean") where no strategy inside a node has this name.
void check_inner(const std::string& name);

/// From the words of flags: "paper" or "corrected"; "fp32" or "bf16". UserError on others.
ExchangeRequest exchange_request(const ExchangeRequest& numbers, const std::string& merge,
                                 const std::string& wire);

struct PlanRequest {
  const Network& network;
  const Machine& machine;
  const CostModel* cost = nullptr;  ///< null: the strategy does without
  std::int64_t batch = 64;
  int microbatches = 1;
  int optimizer_states = 1;
  bool clip = false;
  int wire_bytes = 4;
  std::int64_t bucket_bytes = 8 << 20;
  PipelineRequest pipeline{};
  TearRequest tear{};
  ExchangeRequest exchange{};
  RowPartitioner partition{};  ///< for strategies that cut rows; empty: equal runs of rows
};

struct Strategy {
  std::string name;
  std::string about;  ///< one line for people
  std::function<Plan(const PlanRequest&)> make;
  /// Which of the plan's modes the next epoch takes, `losses` being those of the epochs before.
  /// Null: there is one.
  std::function<int(const DasoPhases& phases, const std::vector<double>& losses)> mode{};
};

std::span<const Strategy> strategies();
std::vector<std::string> strategy_names();
/// UserError ("did you mean") for a name that is not among them.
void check_strategy(const std::string& name);

/// UserError for a name that is not among them.
const Strategy& find_strategy(const std::string& name);

/// The checked plan of the strategy with this name; UserError for an unknown one ("did you mean"),
/// or where the strategy cannot use the machine (more workers than samples, ...).
Plan make_plan(const std::string& strategy, const PlanRequest& request);

}  // namespace plait
