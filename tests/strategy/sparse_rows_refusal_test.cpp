// What sparse_rows refuses: one line, with a way out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "strategy/sparse_rows_testing.hpp"

namespace plait::strategy {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string refused(const plan::Network& network, int count, const RowPartitioner& partition) {
  const plan::Machine machine = workers(count);
  PlanRequest request{.network = network, .machine = machine, .batch = 8};
  request.partition = partition;
  return refusal("sparse_rows", request);
}

TEST(SparseRowsRefusals, OtherLayersThanLinearOnes) {
  EXPECT_THAT(refused(network_of("lenet"), 2, {}),
              AllOf(HasSubstr("block 'conv1' is something else"), HasSubstr("layerpipe")));
  const auto with_last = [](const std::vector<ops::Operation>& layers) {
    graph::ModelSpec model = mixed();
    graph::BlockSpec& block =
        model.blocks.insert(model.blocks.end() - 1, {.name = "x", .nodes = {}})[0];
    for (const ops::Operation& layer : layers) block.then(std::string(ops::name_of(layer)), layer);
    return refused(plan::make_network(model), 2, {});
  };
  const ops::Linear linear{.out_features = 24};
  const ops::Activation relu{ops::ActivationKind::relu};
  const auto says_x = HasSubstr("block 'x' is something else");
  EXPECT_THAT(with_last({ops::BatchNorm{}}), says_x);
  EXPECT_THAT(with_last({linear, ops::Dropout{}}), says_x);
  EXPECT_THAT(with_last({linear, relu, relu}), says_x);
  EXPECT_THAT(with_last({linear, relu, linear}), says_x);
  EXPECT_THAT(with_last({relu}), says_x);
  EXPECT_EQ(with_last({linear, relu}), "no UserError");
}

TEST(SparseRowsRefusals, DenseLayersOfMillionsOfWeights) {
  EXPECT_THAT(refused(network_of("mlp:3000-3000"), 2, {}),
              AllOf(HasSubstr("the 3,000 x 3,000 weights of block 'fc2' are dense"),
                    HasSubstr("plait prune"), HasSubstr("layerpipe")));
}

TEST(SparseRowsRefusals, BlocksThatAreNoChain) {
  graph::ModelSpec model = mixed();
  graph::BlockSpec& block = model.blocks[3];
  block = {.name = "x", .nodes = {}};
  block.then("linear", ops::Linear{.out_features = 16});
  block.join("add", ops::Add{}, {0, graph::kBlockInput});
  EXPECT_THAT(refused(plan::make_network(model), 2, {}), HasSubstr("block 'x' is something else"));
  block.nodes.pop_back();
  block.join("relu", ops::Activation{}, {graph::kBlockInput});  // the linear's result is for nobody
  EXPECT_THAT(refused(plan::make_network(model), 2, {}), HasSubstr("block 'x' is something else"));
}

TEST(SparseRowsRefusals, MoreWorkersThanRows) {
  const plan::Network network = plan::make_network(mixed());
  EXPECT_THAT(refused(network, 17, {}),
              AllOf(HasSubstr("`workers` 17"), HasSubstr("'c.linear'"), HasSubstr("at most 16")));
  EXPECT_EQ(refused(network, 16, {}), "no UserError");
}

TEST(SparseRowsRefusals, MicrobatchesAndClipping) {
  const plan::Network network = plan::make_network(mixed());
  const plan::Machine machine = workers(2);
  PlanRequest request{.network = network, .machine = machine, .batch = 8, .microbatches = 4};
  EXPECT_THAT(refusal("sparse_rows", request), HasSubstr("`microbatches` 4"));
  request.microbatches = 1;
  request.clip = true;
  EXPECT_THAT(refusal("sparse_rows", request), HasSubstr("`clip_norm`"));
  const plan::Machine one = workers(1);
  EXPECT_THAT(
      refusal("sparse_rows", {.network = network, .machine = one, .batch = 8, .clip = true}),
      HasSubstr("or use serial"));
}

TEST(SparseRowsRefusals, OwnersOfAnotherNetwork) {
  const plan::Network network = plan::make_network(mixed());
  const RowOwners good = with(partition::PartitionMethod::merged)(row_patterns(network), 2);
  const auto changed = [&](const std::function<void(RowOwners&)>& change) {
    RowOwners owners = good;
    change(owners);
    return refused(network, 2, [=](const Patterns&, int) { return owners; });
  };
  EXPECT_EQ(changed([](RowOwners&) {}), "no UserError");
  EXPECT_THAT(changed([](RowOwners& owners) { owners.pop_back(); }), HasSubstr("has 3 layers"));
  EXPECT_THAT(changed([](RowOwners& owners) { owners[1].pop_back(); }),
              AllOf(HasSubstr("layer 'b.sparse_linear' (30 rows)"), HasSubstr("2 workers")));
  EXPECT_THAT(changed([](RowOwners& owners) { owners[0][3] = 2; }), HasSubstr("others than"));
  EXPECT_THAT(changed([](RowOwners& owners) { owners[0][3] = -1; }), HasSubstr("others than"));
  EXPECT_THAT(changed([](RowOwners& owners) { std::ranges::fill(owners[2], 1); }),
              HasSubstr("leaves one out"));
}

}  // namespace
}  // namespace plait::strategy
