// Blocks that read several tensors: the fast layers against the plain loops, with gradients of
// every input, and the plain loops against finite differences.
#include <omp.h>

#include "kernels/graph_of_blocks.hpp"

namespace plait::kernels::layer_testing {
namespace {

constexpr std::int64_t kSamples = 3;

/// Everything in plain memory, inputs and result too.
class PlainBlock {
 public:
  PlainBlock(const graph::BlockSpec& spec, const std::vector<tensor::Shape>& inputs,
             Backend backend)
      : graph_(spec, descs(inputs),
               {.backend = backend, .threads = 2, .dst_layout = tensor::Layout::plain}) {
    for (const auto& part : graph_.parts()) {
      for (const BlockParameter& parameter : part->block.parameters()) {
        const Floats plain = noise(count(parameter.spec.shape), parameter.name);
        Floats& home = parameter.spec.trainable ? part->weights : part->state;
        part->block.pack_parameter(parameter, plain.data(), home.data() + parameter.offset);
      }
    }
  }

  static Floats noise(std::size_t size, const std::string& name) {
    Rng rng(1, Purpose::test, hash_of(name));
    Floats values(size);
    for (float& x : values) x = 0.5F * rng.normal();
    return values;
  }

  Floats forward(const std::vector<Floats>& inputs) { return graph_.forward(inputs); }
  /// Gradients of the inputs.
  std::vector<Floats> backward(const Floats& gradient) { return graph_.backward(gradient); }

  Floats parameter_gradients() {
    Floats all;
    for (const auto& part : graph_.parts()) {
      for (const BlockParameter& parameter : part->block.parameters()) {
        if (!parameter.spec.trainable) continue;
        Floats plain(count(parameter.spec.shape));
        part->block.unpack_parameter(parameter, part->gradient.floats() + parameter.offset,
                                     plain.data());
        all.insert(all.end(), plain.begin(), plain.end());
      }
    }
    return all;
  }

 private:
  static std::vector<tensor::TensorDesc> descs(const std::vector<tensor::Shape>& inputs) {
    std::vector<tensor::TensorDesc> list;
    for (const tensor::Shape& input : inputs) list.push_back(batch_desc(input, kSamples));
    return list;
  }
  static std::uint64_t hash_of(const std::string& name) { return std::hash<std::string>()(name); }

  GraphOfBlocks graph_;
};

struct Case {
  std::string name;
  std::vector<tensor::Shape> inputs;
  graph::BlockSpec block;
};

using graph::block_input;

/// Input 0 has three readers; concat gets blocked and plain sources.
Case braided(std::int64_t left, std::int64_t right) {
  Case one{.name = "braided", .inputs = {{left, 6, 6}, {right, 6, 6}}, .block = {}};
  one.block.name = "b";
  const ops::Convolution same{.out_channels = left, .padding = {1, 1}};
  const int a = one.block.join("a", same, {block_input(0)});
  const int b = one.block.join("b", same, {block_input(1)});
  const int all = one.block.join("all", ops::Concat{}, {a, b, block_input(0), block_input(1)});
  const int rectified = one.block.join("relu", ops::Activation{ops::ActivationKind::tanh}, {all});
  const int mixed = one.block.join(
      "mixed", ops::Convolution{.out_channels = left, .kernel = {1, 1}}, {rectified});
  one.block.join("sum", ops::Add{}, {mixed, block_input(0)});
  return one;
}

Case of_one_layer(const ops::Operation& layer, std::vector<tensor::Shape> inputs) {
  Case one{.name = std::string(ops::name_of(layer)), .inputs = std::move(inputs), .block = {}};
  std::vector<int> all;
  for (int k = 0; k < static_cast<int>(one.inputs.size()); ++k) all.push_back(block_input(k));
  one.block.name = "b";
  one.block.join(one.name, layer, all);
  return one;
}

/// One layer may read an input more than once.
Case read_twice() {
  Case one{.name = "twice", .inputs = {{4, 3, 3}}, .block = {}};
  one.block.name = "b";
  const int tanh = one.block.then("tanh", ops::Activation{ops::ActivationKind::tanh});
  one.block.join("all", ops::Concat{}, {block_input(0), tanh, block_input(0), tanh});
  return one;
}

/// As in squeeze and excitation: blocked tensors meet a kernel for plain ones.
Case gated(std::int64_t channels) {
  Case one{.name = "gated", .inputs = {{channels, 6, 6}}, .block = {}};
  one.block.name = "b";
  const int a = one.block.then("a", ops::Convolution{.out_channels = channels, .padding = {1, 1}});
  const int mean = one.block.then("mean", ops::GlobalAveragePool{});
  const int gate = one.block.join("gate", ops::Activation{ops::ActivationKind::sigmoid}, {mean});
  const int scaled = one.block.join("scaled", ops::Multiply{}, {a, gate});
  const int last = one.block.join(
      "last", ops::Convolution{.out_channels = channels, .kernel = {1, 1}}, {scaled});
  one.block.join("sum", ops::Add{}, {last, block_input(0)});
  return one;
}

/// A depthwise convolution behind layers that leave plain tensors, as in ShuffleNet.
Case shuffled(std::int64_t channels) {
  Case one{.name = "shuffled", .inputs = {{2 * channels, 6, 6}}, .block = {}};
  one.block.name = "b";
  const int left = one.block.then("left", ops::Slice{.start = channels, .length = channels});
  const int deep = one.block.then(
      "deep", ops::Convolution{.out_channels = channels, .padding = {1, 1}, .groups = channels});
  one.block.then("norm", ops::LayerNorm{.dims = 2});
  const int all = one.block.join("all", ops::Concat{}, {deep, left, deep + 1});
  one.block.join("shuffle", ops::ChannelShuffle{.groups = 3}, {all});
  return one;
}

std::vector<Case> cases() {
  return {braided(16, 32),
          shuffled(16),
          shuffled(5),
          braided(5, 3),
          of_one_layer(ops::Add{}, {{4, 3, 3}, {4, 3, 3}}),
          of_one_layer(ops::Concat{}, {{7}, {1}, {4}}),
          of_one_layer(ops::Multiply{}, {{4, 3, 3}, {4, 3, 3}}),
          of_one_layer(ops::Multiply{}, {{4, 3, 3}, {4, 1, 1}}),
          of_one_layer(ops::Multiply{}, {{4, 3, 3}, {4}}),
          of_one_layer(ops::Multiply{}, {{7}, {7}}),
          of_one_layer(ops::Subtract{}, {{4, 3, 3}, {4, 3, 3}}),
          of_one_layer(ops::Subtract{}, {{7}, {7}}),
          gated(16),
          of_one_layer(ops::Concat{}, {{2, 3, 3}, {5, 3, 3}}),
          read_twice()};
}

class BlockInputs : public testing::TestWithParam<Case> {
 protected:
  std::vector<Floats> inputs() const {
    std::vector<Floats> all;
    for (const tensor::Shape& shape : GetParam().inputs) {
      all.push_back(PlainBlock::noise(static_cast<std::size_t>(kSamples * shape.elements()),
                                      std::to_string(all.size())));
    }
    return all;
  }
};

void expect_near(const Floats& wanted, const Floats& got, const std::string& what) {
  ASSERT_EQ(wanted.size(), got.size()) << what;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    ASSERT_NEAR(wanted[i], got[i], 2e-5 * (1 + std::abs(wanted[i]))) << what << " " << i;
  }
}

TEST_P(BlockInputs, FastLayersComputeWhatPlainLoopsDo) {
  PlainBlock slow(GetParam().block, GetParam().inputs, Backend::reference);
  PlainBlock fast(GetParam().block, GetParam().inputs, Backend::onednn);
  const Floats wanted = slow.forward(inputs());
  expect_near(wanted, fast.forward(inputs()), "dst");
  const Floats gradient = PlainBlock::noise(wanted.size(), "gradient");
  const std::vector<Floats> diffs = slow.backward(gradient);
  const std::vector<Floats> fast_diffs = fast.backward(gradient);
  for (std::size_t k = 0; k < diffs.size(); ++k) {
    expect_near(diffs[k], fast_diffs[k], "gradient of input " + std::to_string(k));
  }
  expect_near(slow.parameter_gradients(), fast.parameter_gradients(), "parameters");
}

/// Along a random direction of each input.
TEST_P(BlockInputs, GradientsAreThoseOfFiniteDifferences) {
  PlainBlock block(GetParam().block, GetParam().inputs, Backend::reference);
  const std::vector<Floats> at = inputs();
  const Floats dst = block.forward(at);
  const Floats gradient = PlainBlock::noise(dst.size(), "gradient");
  const std::vector<Floats> diffs = block.backward(gradient);
  constexpr double kStep = 4e-3;
  for (std::size_t k = 0; k < at.size(); ++k) {
    const Floats direction = PlainBlock::noise(at[k].size(), "direction");
    const auto value = [&](double step) {
      std::vector<Floats> moved = at;
      for (std::size_t i = 0; i < direction.size(); ++i) {
        moved[k][i] += static_cast<float>(step * direction[i]);
      }
      return dot(block.forward(moved), gradient);
    };
    const double expected = (value(kStep) - value(-kStep)) / (2 * kStep);
    EXPECT_NEAR(dot(diffs[k], direction), expected, 2e-3 * (1 + std::abs(expected))) << k;
  }
}

INSTANTIATE_TEST_SUITE_P(All, BlockInputs, testing::ValuesIn(cases()), [](const auto& one) {
  return one.param.name + std::to_string(one.index);
});

}  // namespace
}  // namespace plait::kernels::layer_testing
