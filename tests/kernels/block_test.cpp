// Blocks of many shapes of graph against central differences: gradients that meet, buffers that are
// shared, layers that work in place, tensors that several layers read. Smooth activations only; the
// fused BatchNorm + ReLU is judged by network_test.cpp.
#include <gtest/gtest.h>

#include <tuple>

#include "kernels/block_testing.hpp"
#include "kernels/layer_cases.hpp"

namespace plait::kernels::layer_testing {
namespace {

constexpr double kStep = 1e-2;
constexpr double kTolerance = 3e-3;  // truncation h^2 f''' / 6 through several layers

const ops::Activation kTanh{ops::ActivationKind::tanh};
const ops::Activation kGelu{ops::ActivationKind::gelu};
const ops::Activation kSigmoid{ops::ActivationKind::sigmoid};

ops::Convolution conv(std::int64_t channels) {
  return {.out_channels = channels, .padding = {1, 1}};
}

graph::BlockSpec one_layer() {
  graph::BlockSpec block{.name = "one_layer", .nodes = {}};
  block.then("tanh", kTanh);
  return block;
}
graph::BlockSpec in_place_chain() {
  graph::BlockSpec block{.name = "in_place_chain", .nodes = {}};
  block.then("norm", ops::BatchNorm{});
  block.then("tanh", kTanh);
  block.then("dropout", ops::Dropout{.probability = 0.3});
  block.then("sigmoid", kSigmoid);
  return block;
}
graph::BlockSpec skip_first() {
  graph::BlockSpec block{.name = "skip_first", .nodes = {}};
  const int last = block.then("conv", conv(5));
  block.join("add", ops::Add{}, {graph::kBlockInput, last});
  block.then("gelu", kGelu);
  return block;
}
graph::BlockSpec add_twice() {
  graph::BlockSpec block{.name = "add_twice", .nodes = {}};
  const int tanh = block.then("tanh", kTanh);
  const int twice = block.join("twice", ops::Add{}, {tanh, tanh});
  block.join("input", ops::Add{}, {twice, graph::kBlockInput});
  return block;
}
graph::BlockSpec only_add() {
  graph::BlockSpec block{.name = "only_add", .nodes = {}};
  block.join("add", ops::Add{}, {graph::kBlockInput, graph::kBlockInput});
  return block;
}
graph::BlockSpec three_readers() {
  graph::BlockSpec block{.name = "three_readers", .nodes = {}};
  const int stem = block.then("stem", conv(7));
  const int a = block.join("a", kTanh, {stem});
  const int b = block.join("b", conv(7), {stem});
  const int c = block.join("c", ops::BatchNorm{}, {stem});
  const int ab = block.join("ab", ops::Add{}, {a, b});
  block.join("abc", ops::Add{}, {c, ab});
  return block;
}
graph::BlockSpec nested_skips() {
  graph::BlockSpec block{.name = "nested_skips", .nodes = {}};
  const int norm = block.then("norm1", ops::BatchNorm{});
  block.then("conv1", conv(5));
  block.then("gelu1", kGelu);
  const int conv2 = block.then("conv2", conv(5));
  const int inner = block.join("inner", ops::Add{}, {conv2, norm});
  block.then("norm2", ops::BatchNorm{});
  const int gelu2 = block.then("gelu2", kGelu);
  const int both = block.join("both", ops::Add{}, {gelu2, inner});
  block.join("outer", ops::Add{}, {both, graph::kBlockInput});
  return block;
}
graph::BlockSpec shortcut() {
  graph::BlockSpec block{.name = "shortcut", .nodes = {}};
  const ops::Convolution down{
      .out_channels = 9, .stride = {2, 2}, .padding = {1, 1}, .bias = false};
  const ops::Convolution projection{
      .out_channels = 9, .kernel = {1, 1}, .stride = {2, 2}, .bias = false};
  block.then("norm1", ops::BatchNorm{});
  const int entry = block.then("tanh1", kTanh);
  block.then("conv1", down);
  block.then("norm2", ops::BatchNorm{});
  block.then("tanh2", kTanh);
  const int conv2 = block.then("conv2", conv(9));
  const int side = block.join("side", projection, {entry});
  block.join("add", ops::Add{}, {conv2, side});
  return block;
}
graph::BlockSpec head() {
  graph::BlockSpec block{.name = "head", .nodes = {}};
  block.then("pool", ops::Pool{.kind = ops::PoolKind::average});
  block.then("flatten", ops::Flatten{});
  block.then("dropout", ops::Dropout{.probability = 0.5});
  block.then("linear1", ops::Linear{.out_features = 11});
  block.then("sigmoid", kSigmoid);
  block.then("linear2", ops::Linear{.out_features = 3});
  return block;
}
graph::BlockSpec early_result() {
  graph::BlockSpec block{.name = "early_result", .nodes = {}};
  const int a = block.then("a", conv(8));
  const int b = block.join("b", conv(8), {graph::kBlockInput});
  const int c = block.join("c", kTanh, {b});
  block.join("sum", ops::Add{}, {a, c});
  block.then("end", kTanh);
  return block;
}

std::vector<graph::BlockSpec> graphs() {
  return {one_layer(),     in_place_chain(), skip_first(), add_twice(), only_add(),
          three_readers(), nested_skips(),   shortcut(),   head(),      early_result()};
}

class BlockGraph
    : public testing::TestWithParam<std::tuple<graph::BlockSpec, Backend, tensor::Layout>> {
 protected:
  BlockGraph()
      : src_{.shape = {3, 5, 6, 7}, .layout = std::get<2>(GetParam())},
        rig_(std::get<0>(GetParam()), src_, BlockOptions{.backend = std::get<1>(GetParam())}),
        input_(random_floats(count(src_.shape), 1)) {
    std::uint64_t stream = 10;
    for (const BlockRig::Parameter& parameter : rig_.parameters()) {
      Floats values = random_floats(count(parameter.spec.shape), stream++);
      const bool positive = parameter.spec.value == 1;
      for (float& x : values) x = positive ? 1.0F + 0.3F * x : 0.3F * x;
      rig_.set_parameter(parameter, values);
    }
  }

  Floats forward(const Floats& input) { return rig_.forward(to_physical(src_, input)); }

  /// J v, physical, from the results on both sides.
  static Floats slope(const Floats& ahead, const Floats& behind) {
    Floats result(ahead.size());
    for (std::size_t i = 0; i < result.size(); ++i) {
      result[i] = static_cast<float>((static_cast<double>(ahead[i]) - behind[i]) / (2 * kStep));
    }
    return result;
  }

  tensor::TensorDesc src_;
  BlockRig rig_;
  Floats input_;
};

TEST_P(BlockGraph, HasTheGradientOfItsSource) {
  const Floats direction = random_floats(input_.size(), 2);
  const Floats ahead = forward(moved(input_, direction, kStep));
  const Floats along = slope(ahead, forward(moved(input_, direction, -kStep)));
  forward(input_);
  const Floats diff_src = to_plain(src_, rig_.backward(along).data());
  const double expected = dot(along, along);
  ASSERT_GT(expected, 0);
  EXPECT_NEAR(dot(diff_src, direction), expected, kTolerance * expected);
}

TEST_P(BlockGraph, HasTheGradientOfEachParameter) {
  for (const BlockRig::Parameter& parameter : rig_.parameters()) {
    if (!parameter.spec.trainable) continue;
    const Floats here = rig_.parameter(parameter);
    const Floats direction = random_floats(here.size(), 3);
    rig_.set_parameter(parameter, moved(here, direction, kStep));
    const Floats ahead = forward(input_);
    rig_.set_parameter(parameter, moved(here, direction, -kStep));
    const Floats along = slope(ahead, forward(input_));
    rig_.set_parameter(parameter, here);
    forward(input_);
    rig_.backward(along);
    const double expected = dot(along, along);
    // A bias in front of a BatchNorm changes nothing: both sides are rounding, and small.
    const double largest = std::sqrt(static_cast<double>(along.size()));
    EXPECT_NEAR(dot(rig_.gradient(parameter), direction), expected,
                kTolerance * expected + 1e-6 * largest)
        << parameter.name;
  }
}

std::string name_of_graph(const testing::TestParamInfo<BlockGraph::ParamType>& test) {
  return std::get<0>(test.param).name + "_" + to_string(std::get<1>(test.param)) + "_" +
         plait::tensor::name_of(std::get<2>(test.param));
}

INSTANTIATE_TEST_SUITE_P(Plain, BlockGraph,
                         testing::Combine(testing::ValuesIn(graphs()),
                                          testing::Values(Backend::reference, Backend::onednn),
                                          testing::Values(tensor::Layout::plain)),
                         name_of_graph);
INSTANTIATE_TEST_SUITE_P(Blocked, BlockGraph,
                         testing::Combine(testing::ValuesIn(graphs()),
                                          testing::Values(Backend::onednn),
                                          testing::Values(tensor::Layout::blocked8)),
                         name_of_graph);

}  // namespace
}  // namespace plait::kernels::layer_testing
