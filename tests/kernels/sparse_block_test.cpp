// Sparse layers among others in a block: fused activations, conversions of layouts in both
// directions, gradients that meet in panels. Judged by differences and by the plain-loop twin.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <tuple>

#include "kernels/block_testing.hpp"
#include "kernels/layer_cases.hpp"

namespace plait::kernels::layer_testing {
namespace {

constexpr std::int64_t kFeatures = 12;
constexpr double kStep = 1e-2;
constexpr double kTolerance = 3e-3;      // truncation h^2 f''' / 6 through several layers
constexpr double kTwinTolerance = 5e-5;  // of the largest value: float sums in another order

const ops::Activation kTanh{ops::ActivationKind::tanh};
const ops::Activation kRelu{ops::ActivationKind::relu};
const ops::Activation kClip{ops::ActivationKind::clip, 0.4};
const ops::Activation kGelu{ops::ActivationKind::gelu};
const ops::Activation kSigmoid{ops::ActivationKind::sigmoid};

graph::BlockSpec chain(const std::string& name, const std::vector<ops::Operation>& layers) {
  graph::BlockSpec block{.name = name, .nodes = {}};
  for (const ops::Operation& layer : layers) {
    block.then(fmt::format("n{}", block.nodes.size()), layer);
  }
  return block;
}

graph::BlockSpec skip() {
  graph::BlockSpec block = chain("skip", {sparse(kFeatures, kFeatures, 0.4)});
  block.join("add", ops::Add{}, {0, graph::kBlockInput});
  block.then("tanh", kTanh);
  return block;
}
graph::BlockSpec dense_skip() {
  graph::BlockSpec block = chain("dense_skip", {sparse(9, kFeatures, 0.4), kTanh});
  const int side = block.join("side", ops::Linear{.out_features = 9}, {graph::kBlockInput});
  block.join("add", ops::Add{}, {side, 1});
  return block;
}
graph::BlockSpec two_readers() {
  graph::BlockSpec block = chain("two_readers", {sparse(9, kFeatures, 0.4), kTanh});
  block.join("add", ops::Add{}, {0, 1});
  return block;
}

std::vector<graph::BlockSpec> smooth_graphs() {
  const ops::SparseLinear first = sparse(15, kFeatures, 0.4);
  const ops::SparseLinear second = sparse(8, 15, 0.3, false);
  return {
      chain("alone", {first}),
      chain("tanh", {first, kTanh}),
      chain("gelu", {first, kGelu}),
      chain("sparse_sparse", {first, kTanh, second, kSigmoid}),
      chain("between_dense", {ops::Linear{.out_features = 15}, kTanh, second, kTanh,
                              ops::Linear{.out_features = 4}}),
      chain("dropout", {first, kTanh, ops::Dropout{.probability = 0.3}, second}),
      chain("tanh_first", {kTanh, first, kSigmoid, kTanh}),
      skip(),
      dense_skip(),
      two_readers(),
  };
}
/// No empty rows: BatchNorm would blow the rounding of a constant up.
graph::BlockSpec norm(const ops::Activation& activation) {
  const ops::SparseLinear first = sparse(15, kFeatures, 0.4, true, false);
  return chain("norm", {first, ops::BatchNorm{}, activation, sparse(8, 15, 0.3)});
}
std::vector<graph::BlockSpec> kinked_graphs() {
  const ops::SparseLinear first = sparse(15, kFeatures, 0.4);
  const ops::SparseLinear second = sparse(8, 15, 0.3, false);
  return {chain("relu", {first, kRelu, second}), chain("clip", {first, kClip, second, kClip}),
          norm(kRelu), chain("relu_first", {kRelu, first, kRelu})};
}

void fill_parameters(BlockRig& rig) {
  std::uint64_t stream = 10;
  for (const BlockRig::Parameter& parameter : rig.parameters()) {
    Floats values = random_floats(count(parameter.spec.shape), stream++);
    const bool positive = parameter.spec.value == 1;
    for (float& x : values) x = positive ? 1.0F + 0.3F * x : 0.6F * x;
    rig.set_parameter(parameter, values);
  }
}

Floats slope(const Floats& ahead, const Floats& behind) {
  Floats result(ahead.size());
  for (std::size_t i = 0; i < result.size(); ++i) {
    result[i] = static_cast<float>((static_cast<double>(ahead[i]) - behind[i]) / (2 * kStep));
  }
  return result;
}

/// A block with plain numbers going in and out.
struct PlainRig {
  PlainRig(const graph::BlockSpec& spec, std::int64_t batch, tensor::Layout layout,
           BlockOptions options)
      : src{.shape = {batch, kFeatures}, .layout = layout}, rig(spec, src, options) {
    fill_parameters(rig);
  }
  Floats forward(const Floats& input) {
    const Floats& dst = rig.forward(to_physical(src, input, Padding::activation));
    return to_plain(rig.dst_desc(), dst.data(), Padding::activation);
  }
  Floats backward(const Floats& diff_dst) {
    return to_plain(src, rig.backward(to_physical(rig.dst_desc(), diff_dst)).data());
  }
  tensor::TensorDesc src;
  BlockRig rig;
};

class SparseBlock : public testing::TestWithParam<
                        std::tuple<graph::BlockSpec, std::int64_t, tensor::Layout, bool>> {
 protected:
  PlainRig make(Backend backend, int threads = 1) const {
    const auto& [spec, batch, layout, plain_dst] = GetParam();
    return {spec, batch, backend == Backend::reference ? tensor::Layout::plain : layout,
            BlockOptions{
                .backend = backend,
                .threads = threads,
                .dst_layout = plain_dst ? std::optional(tensor::Layout::plain) : std::nullopt}};
  }
  Floats input() const {
    return random_floats(static_cast<std::size_t>(std::get<1>(GetParam()) * kFeatures), 1);
  }
};

class SmoothSparseBlock : public SparseBlock {};
TEST_P(SmoothSparseBlock, HasTheGradientOfItsSource) {
  PlainRig rig = make(Backend::onednn);
  const Floats x = input();
  const Floats direction = random_floats(x.size(), 2);
  const Floats ahead = rig.forward(moved(x, direction, kStep));
  const Floats along = slope(ahead, rig.forward(moved(x, direction, -kStep)));
  rig.forward(x);
  const double expected = dot(along, along);
  ASSERT_GT(expected, 0);
  EXPECT_NEAR(dot(rig.backward(along), direction), expected, kTolerance * expected);
}

TEST_P(SmoothSparseBlock, HasTheGradientOfEachParameter) {
  PlainRig rig = make(Backend::onednn);
  const Floats x = input();
  for (const BlockRig::Parameter& parameter : rig.rig.parameters()) {
    if (!parameter.spec.trainable) continue;
    const Floats here = rig.rig.parameter(parameter);
    const Floats direction = random_floats(here.size(), 3);
    rig.rig.set_parameter(parameter, moved(here, direction, kStep));
    const Floats ahead = rig.forward(x);
    rig.rig.set_parameter(parameter, moved(here, direction, -kStep));
    const Floats along = slope(ahead, rig.forward(x));
    rig.rig.set_parameter(parameter, here);
    rig.forward(x);
    rig.backward(along);
    const double expected = dot(along, along);
    // A bias in front of a BatchNorm changes nothing: both sides are rounding, and small.
    const double largest = std::sqrt(static_cast<double>(along.size()));
    EXPECT_NEAR(dot(rig.rig.gradient(parameter), direction), expected,
                kTolerance * expected + 1e-6 * largest)
        << parameter.name;
  }
}

TEST_P(SparseBlock, ComputesWhatItsTwinDoes) {
  PlainRig slow = make(Backend::reference);
  const Floats x = input();
  const Floats expected = slow.forward(x);
  const Floats diff = random_floats(expected.size(), 4);
  const Floats diff_src = slow.backward(diff);
  for (const int threads : {1, 2}) {
    PlainRig fast = make(Backend::onednn, threads);
    expect_close(fast.forward(x), expected, kTwinTolerance, "dst");
    expect_close(fast.backward(diff), diff_src, kTwinTolerance, "diff_src");
    const std::vector<BlockRig::Parameter>& parameters = slow.rig.parameters();
    const auto& others = fast.rig.parameters();
    ASSERT_EQ(others.size(), parameters.size());
    for (std::size_t p = 0; p < parameters.size(); ++p) {
      ASSERT_EQ(others[p].name, parameters[p].name);
      if (!parameters[p].spec.trainable) continue;
      // A bias in front of a BatchNorm has no gradient but rounding.
      Floats wanted = slow.rig.gradient(parameters[p]);
      Floats actual = fast.rig.gradient(others[p]);
      wanted.push_back(1);
      actual.push_back(1);
      expect_close(actual, wanted, kTwinTolerance, parameters[p].name);
    }
  }
}

TEST_P(SparseBlock, ComputesTheSameInEvaluation) {
  PlainRig slow = make(Backend::reference);
  PlainRig fast = make(Backend::onednn);
  slow.rig.training = fast.rig.training = false;
  expect_close(fast.forward(input()), slow.forward(input()), kTwinTolerance, "dst");
}

/// The first block of a network: nobody waits for the gradient of its input.
TEST(SparseBlocks, WithoutASourceGradientHaveTheOneOfTheirWeights) {
  const graph::BlockSpec spec = chain("tanh", {sparse(15, kFeatures, 0.4), kTanh});
  const Floats x = random_floats(5 * kFeatures, 1);
  const Floats diff = random_floats(5 * 15, 2);
  std::vector<Floats> gradients;
  for (const bool wanted : {true, false}) {
    PlainRig rig(spec, 5, tensor::Layout::plain,
                 {.wants_diff_srcs = {wanted}, .dst_layout = tensor::Layout::plain});
    rig.forward(x);
    rig.rig.backward(diff);
    gradients.push_back(rig.rig.gradient(rig.rig.parameters().front()));
  }
  EXPECT_EQ(gradients[0], gradients[1]);
}

std::string name_of_block(const testing::TestParamInfo<SparseBlock::ParamType>& test) {
  const auto& [spec, batch, layout, plain_dst] = test.param;
  return spec.name + "_" + std::to_string(batch) + "_" + plait::tensor::name_of(layout) +
         (plain_dst ? "_to_plain" : "");
}

const auto kLayouts = testing::Values(tensor::Layout::plain, tensor::Layout::panels);
const auto kBatches = testing::Values(1, 5, 64, 100);

INSTANTIATE_TEST_SUITE_P(Graphs, SmoothSparseBlock,
                         testing::Combine(testing::ValuesIn(smooth_graphs()), kBatches, kLayouts,
                                          testing::Bool()),
                         name_of_block);
INSTANTIATE_TEST_SUITE_P(Norm, SmoothSparseBlock,
                         testing::Combine(testing::Values(norm(kTanh)), testing::Values(5, 64, 100),
                                          kLayouts, testing::Bool()),
                         name_of_block);
INSTANTIATE_TEST_SUITE_P(Smooth, SparseBlock,
                         testing::Combine(testing::ValuesIn(smooth_graphs()), kBatches, kLayouts,
                                          testing::Bool()),
                         name_of_block);
INSTANTIATE_TEST_SUITE_P(Kinked, SparseBlock,
                         testing::Combine(testing::ValuesIn(kinked_graphs()),
                                          testing::Values(5, 64, 100), kLayouts, testing::Bool()),
                         name_of_block);

}  // namespace
}  // namespace plait::kernels::layer_testing
