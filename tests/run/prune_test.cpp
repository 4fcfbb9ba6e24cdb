// Pruning: what stays, what is refused, and that the sparse network is the masked dense one.
#include "run/prune.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.hpp"
#include "graph/tied.hpp"
#include "graph/zoo.hpp"
#include "run/parameters.hpp"

namespace plait::run {
namespace {

using testing::HasSubstr;

struct Dense {
  graph::ModelSpec model = graph::make_model("mlp:12-8", {1, 4, 5}, 3);
  Chain chain{model, {.batch = 4}};
  ParameterStore parameters{chain, 7, 0};
  std::vector<checkpoint::NamedTensor> weights = parameters.export_weights();
};

const tensor::Tensor& tensor(const std::vector<checkpoint::NamedTensor>& list,
                             const std::string& name) {
  for (const checkpoint::NamedTensor& one : list) {
    if (one.name == name) return one.tensor;
  }
  throw std::runtime_error("no tensor " + name);
}

TEST(Prune, KeepsTheLargestWeightsOfEveryLinearLayer) {
  const Dense dense;
  const PrunedModel pruned = prune(dense.model, dense.weights, {.sparsity = 0.75});
  ASSERT_EQ(pruned.layers.size(), 3U);
  EXPECT_EQ(pruned.layers[0].before, 240);
  EXPECT_EQ(pruned.layers[0].after, 60);
  const auto& spec = std::get<ops::SparseLinear>(pruned.model.blocks[1].nodes[0].layer);
  const auto before = tensor(dense.weights, "fc2.linear.weight").floats();
  const auto after = tensor(pruned.weights, "fc2.linear.weight").floats();
  ASSERT_EQ(static_cast<std::int64_t>(after.size()), spec.pattern->size());
  float smallest_kept = 1e9F;
  std::vector<bool> kept(before.size(), false);
  std::size_t k = 0;
  for (std::int64_t row = 0; row < spec.pattern->rows; ++row) {
    for (const std::int32_t column : spec.pattern->row(row)) {
      const auto at = static_cast<std::size_t>(row * spec.pattern->columns + column);
      EXPECT_EQ(after[k++], before[at]);
      smallest_kept = std::min(smallest_kept, std::abs(before[at]));
      kept[at] = true;
    }
  }
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (kept[i]) continue;
    EXPECT_LE(std::abs(before[i]), smallest_kept) << i;
  }
}

TEST(Prune, TheWeightsFitTheModelItMakes) {
  const Dense dense;
  const PrunedModel pruned = prune(dense.model, dense.weights, {.sparsity = 0.9});
  EXPECT_NO_THROW(check_weights(plan::make_network(pruned.model), pruned.weights, "pruned"));
  Chain chain(pruned.model, {.batch = 4});
  ParameterStore parameters(chain, 1, 1);
  parameters.import_weights(pruned.weights, "pruned");
  const std::vector<checkpoint::NamedTensor> back = parameters.export_weights();
  for (const checkpoint::NamedTensor& one : pruned.weights) {
    const tensor::Tensor& other = tensor(back, one.name);
    ASSERT_EQ(other.shape(), one.tensor.shape()) << one.name;
    EXPECT_TRUE(std::equal(one.tensor.data(), one.tensor.data() + one.tensor.bytes(), other.data()))
        << one.name;
  }
}

TEST(Prune, BlocksToKeepStayDense) {
  const Dense dense;
  const PrunedModel pruned =
      prune(dense.model, dense.weights, {.sparsity = 0.5, .keep = {"fc1", "fc3"}});
  ASSERT_EQ(pruned.layers.size(), 1U);
  EXPECT_EQ(pruned.layers[0].name, "fc2.linear");
  EXPECT_EQ(pruned.model.blocks[0], dense.model.blocks[0]);
}

TEST(Prune, NothingGoesAtSparsityZero) {
  const Dense dense;
  const PrunedModel pruned = prune(dense.model, dense.weights, {.sparsity = 0});
  for (const PrunedLayer& layer : pruned.layers) EXPECT_EQ(layer.after, layer.before);
}

TEST(Prune, WeightsOfAnotherPatternAreRefused) {
  const Dense dense;
  const PrunedModel pruned = prune(dense.model, dense.weights, {.sparsity = 0.5});
  std::vector<checkpoint::NamedTensor> other = pruned.weights;
  for (checkpoint::NamedTensor& one : other) {
    if (one.name != "fc1.linear.weight.col_indices") continue;
    tensor::Tensor changed(one.tensor.shape(), tensor::DType::i32);
    std::ranges::copy(one.tensor.as<std::int32_t>(), changed.as<std::int32_t>().begin());
    std::swap(changed.as<std::int32_t>()[0], changed.as<std::int32_t>()[1]);
    one.tensor = changed;
  }
  try {
    check_weights(plan::make_network(pruned.model), other, "w.safetensors");
    FAIL() << "was taken";
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), HasSubstr("fc1.linear.weight.col_indices"));
  }
}

/// Blocks without names of layers, as imported ones; fc2 uses the weights of fc1.
TEST(Prune, UsersOfPrunedWeightsHaveTheirPattern) {
  Dense dense;
  graph::ModelSpec model{.name = "tied", .input = {6}, .blocks = {}};
  for (const char* name : {"fc1", "fc2", "fc3"}) {
    model.blocks.emplace_back(graph::BlockSpec{.name = name, .nodes = {}})
        .then("", ops::Linear{.out_features = 6});
  }
  model.blocks[1].nodes[0].weights = "fc1";
  Chain chain(model, {.batch = 4});
  const std::vector<checkpoint::NamedTensor> weights = ParameterStore(chain, 7, 0).export_weights();
  const PrunedModel pruned = prune(model, weights, {.sparsity = 0.5});
  ASSERT_EQ(pruned.layers.size(), 2U);
  EXPECT_EQ(pruned.layers[0].name, "fc1");
  EXPECT_NO_THROW(check_weights(plan::make_network(pruned.model), pruned.weights, "pruned"));
  EXPECT_NO_THROW(graph::check_tied(pruned.model, "pruned"));
  const auto refusal = [&](const std::vector<std::string>& keep) -> std::string {
    try {
      prune(model, weights, {.sparsity = 0.5, .keep = keep});
    } catch (const UserError& error) {
      return error.what();
    }
    return "none";
  };
  EXPECT_THAT(refusal({"fc1"}), HasSubstr("keeps layer 'fc1' dense, but block 'fc2' uses"));
  EXPECT_THAT(refusal({"fc2"}), HasSubstr("keeps block 'fc2' dense, which uses the weights of"));
  EXPECT_EQ(refusal({"fc1", "fc2"}), "none");
}

TEST(Prune, RefusesWhatItCannotPrune) {
  const Dense dense;
  EXPECT_THROW(prune(dense.model, dense.weights, {.keep = {"fc9"}}), UserError);
  EXPECT_THROW(prune(dense.model, dense.weights, {.keep = {"fc1", "fc2", "fc3"}}), UserError);
}

}  // namespace
}  // namespace plait::run
