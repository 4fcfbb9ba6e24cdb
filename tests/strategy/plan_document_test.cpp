// Every strategy's plan is written as a document and read back: the same plan, the same text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cost/analytic.hpp"
#include "plan/json.hpp"
#include "strategy/sparse_rows_testing.hpp"

namespace plait::strategy {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

struct ScoredPlan {
  std::string name;
  graph::ModelSpec model;
  plan::Plan plan;
};

graph::ModelSpec model_of(const std::string& name) {
  return graph::make_model(
      name, name == "lenet" ? tensor::Shape{1, 28, 28} : tensor::Shape{3, 32, 32}, 10);
}

/// With two users of one matrix, and of one BatchNorm's parameters.
graph::ModelSpec tied() {
  graph::ModelSpec model = model_of("resnet20");
  const auto node = [&](std::size_t block, const std::string& name) -> graph::Node& {
    return *std::ranges::find(model.blocks[block].nodes, name, &graph::Node::name);
  };
  node(2, "conv1").weights = graph::full_name(model.blocks[1], node(1, "conv2"));
  node(3, "bn2").weights = graph::full_name(model.blocks[1], node(1, "bn1"));
  return model;
}

/// One of every strategy that there is, and of their settings that leave traces in plans.
class Maker {
 public:
  std::vector<ScoredPlan> all() {
    for (const Strategy& strategy : strategies()) {
      if (strategy.name == "sparse_rows") continue;
      add(strategy.name, "", model_of(strategy.name == "parareal" ? "resnet20" : "lenet"),
          [](PlanRequest&) {});
    }
    add("layerpipe", "async", model_of("lenet"), [](PlanRequest& request) {
      request.pipeline = {.asynchronous = true, .weights = plan::OldWeights::rebuilt};
    });
    add("serial", "clipped", model_of("resnet20"), [](PlanRequest& request) {
      request.microbatches = 2;
      request.clip = true;
    });
    add("data_parallel", "bf16", model_of("vgg11"), [](PlanRequest& r) { r.wire_bytes = 2; });
    add("parareal", "sweeps", model_of("resnet20"), [](PlanRequest& request) {
      request.tear = {.pieces = 2, .replicas = 1, .sweeps = 2, .half_wire = true};
    });
    for (const char* strategy : {"data_parallel", "1f1b", "layerpipe"}) {
      add(strategy, "tied", tied(), [](PlanRequest& request) { request.microbatches = 4; });
    }
    add("daso", "pipelines", model_of("resnet20"), [](PlanRequest& request) {
      request.exchange.inner = "1f1b";
      request.exchange.half = true;
    });
    for (const auto method :
         {partition::PartitionMethod::merged, partition::PartitionMethod::random}) {
      add("sparse_rows", method == partition::PartitionMethod::merged ? "merged" : "random",
          mixed(), [&](PlanRequest& request) { request.partition = with(method); });
    }
    add("sparse_rows", "equal", mixed(), [](PlanRequest&) {});
    add("data_parallel", "sparse", mixed(), [](PlanRequest&) {});
    return std::move(made_);
  }

 private:
  template <class Change>
  void add(const std::string& strategy, const std::string& how, graph::ModelSpec model,
           Change change) {
    const plan::Network network = plan::make_network(model);
    const bool nodes = strategy == "daso" || strategy == "local_sgd" || strategy == "diloco";
    const plan::Machine machine{.nodes = nodes ? 2 : 1,
                                .workers_per_node = strategy == "serial" ? 1 : 2,
                                .inside = plan::kUsualInside,
                                .between = plan::kUsualBetween,
                                .memory_per_worker = std::int64_t{64} << 30};
    const auto cost = cost::make_analytic_cost(network);
    PlanRequest request{.network = network,
                        .machine = machine,
                        .cost = cost.get(),
                        .batch = 32,
                        .microbatches = strategy == "sparse_rows" ? 1 : 2};
    change(request);
    made_.push_back({strategy + how, std::move(model), make_plan(strategy, request)});
  }

  std::vector<ScoredPlan> made_;
};

TEST(PlanDocument, IsThePlan) {
  for (const ScoredPlan& made : Maker().all()) {
    const std::string text = plan::to_json(made.plan);
    const plan::Plan again = plan::plan_from_json(text, made.name, made.model);
    EXPECT_TRUE(again == made.plan) << made.name;
    EXPECT_EQ(plan::to_json(again), text) << made.name;
  }
}

/// Only matrices are the model's.
TEST(PlanDocument, NeedsNoModelWithoutSparseLayers) {
  int without = 0;
  for (const ScoredPlan& made : Maker().all()) {
    const std::string text = plan::to_json(made.plan);
    if (made.model.name == "mixed") {
      EXPECT_THAT([&] { plan::plan_from_json(text, "p.json"); },
                  ThrowsMessage<UserError>(HasSubstr("names a matrix of the model")));
    } else {
      EXPECT_TRUE(plan::plan_from_json(text, "p.json") == made.plan) << made.name;
      ++without;
    }
  }
  EXPECT_GT(without, 10);
}

TEST(PlanDocument, IsOfOneModel) {
  for (const ScoredPlan& made : Maker().all()) {
    const std::string text = plan::to_json(made.plan);
    EXPECT_THROW(plan::plan_from_json(text, "p.json", model_of("vgg13")), UserError) << made.name;
    graph::ModelSpec other = made.model;
    other.blocks.back().nodes.back().layer = ops::Linear{.out_features = 10, .initial_scale = 2};
    if (made.model.name != "mixed" || made.plan.strategy != "sparse_rows") {
      EXPECT_THROW(plan::plan_from_json(text, "p.json", other), UserError) << made.name;
    }
  }
}

/// The same layers with another matrix.
TEST(PlanDocument, RefusesOtherMatrices) {
  for (const ScoredPlan& made : Maker().all()) {
    if (made.model.name != "mixed") continue;
    graph::ModelSpec other = made.model;
    auto& sparse = std::get<ops::SparseLinear>(other.blocks[1].nodes[0].layer);
    tensor::SparsePattern pattern = *sparse.pattern;
    pattern.column.pop_back();
    for (std::int64_t& begin : pattern.row_begin) begin = std::min(begin, pattern.size());
    sparse.pattern = std::make_shared<const tensor::SparsePattern>(std::move(pattern));
    EXPECT_THROW(plan::plan_from_json(plan::to_json(made.plan), "p.json", other), UserError)
        << made.name;
  }
}

}  // namespace
}  // namespace plait::strategy
