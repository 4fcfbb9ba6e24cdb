// A strategy is a function: network x machine x cost -> plan. This is the list of them; nobody else
// knows their names.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "cost/cost_model.hpp"
#include "strategy/parareal/request.hpp"
#include "strategy/pipeline/request.hpp"
#include "strategy/replicas/exchange_request.hpp"

namespace plait::strategy {

/// Per linear layer of the network, per row: a worker.
using RowOwners = std::vector<std::vector<std::int32_t>>;
/// Who shall own the rows of these layers, each of which reads the one before it.
using RowPartitioner = std::function<RowOwners(
    const std::vector<std::shared_ptr<const tensor::SparsePattern>>& layers, int workers)>;

/// UserError where there are more of them than samples. They need not divide the batch: some then
/// have one sample more than others.
void check_microbatches(int microbatches, std::int64_t batch);

struct PlanRequest {
  const plan::Network& network;
  const plan::Machine& machine;
  const cost::CostModel* cost = nullptr;  ///< null: the strategy does without
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
  std::function<plan::Plan(const PlanRequest&)> make;
  /// Which of the plan's modes the next epoch takes. Null: there is one.
  std::function<int(const ExchangeRequest& exchange, const LossHistory& so_far)> mode{};
};

std::span<const Strategy> strategies();
std::vector<std::string> strategy_names();
/// UserError ("did you mean") that blames `field` for a name that is not among them.
void check_strategy(const std::string& name, std::string_view field = "strategy");

/// UserError for a name that is not among them.
const Strategy& find_strategy(const std::string& name);

/// The checked plan of the strategy with this name; UserError for an unknown one ("did you mean"),
/// or where the strategy cannot use the machine (more workers than samples, ...).
plan::Plan make_plan(const std::string& strategy, const PlanRequest& request);

}  // namespace plait::strategy
