// What a sparse linear layer promises beside its twin: a dense layer with zeros, NaN that shows,
// and pieces that add.
#include <gtest/gtest.h>

#include <limits>

#include "kernels/block_testing.hpp"
#include "kernels/layer_cases.hpp"

namespace plait::kernels::layer_testing {
namespace {

constexpr double kTolerance = 2e-6;  // of the largest value: at most 67 floats in another order
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

graph::BlockSpec block_of(const ops::Operation& linear,
                          const std::optional<ops::Activation>& activation) {
  graph::BlockSpec block{.name = "block", .nodes = {}};
  block.then("linear", linear);
  if (activation) block.then("activation", *activation);
  return block;
}

/// Values at their places, zeros elsewhere.
Floats spread(const tensor::SparsePattern& pattern, const Floats& values) {
  Floats dense(static_cast<std::size_t>(pattern.rows * pattern.columns), 0.0F);
  std::size_t k = 0;
  for (std::int64_t row = 0; row < pattern.rows; ++row) {
    for (const std::int32_t column : pattern.row(row)) {
      dense[static_cast<std::size_t>(row * pattern.columns + column)] = values[k++];
    }
  }
  return dense;
}
Floats gathered(const tensor::SparsePattern& pattern, const Floats& dense) {
  Floats values;
  for (std::int64_t row = 0; row < pattern.rows; ++row) {
    for (const std::int32_t column : pattern.row(row)) {
      values.push_back(dense[static_cast<std::size_t>(row * pattern.columns + column)]);
    }
  }
  return values;
}

/// A block on plain numbers, whatever layout it likes.
struct PlainBlock {
  PlainBlock(const graph::BlockSpec& spec, const tensor::Shape& shape)
      : rig(spec, {.shape = shape}, BlockOptions{.dst_layout = tensor::Layout::plain}) {}
  void set(std::size_t parameter, const Floats& values) {
    rig.set_parameter(rig.parameters()[parameter], values);
  }
  Floats gradient(std::size_t parameter) { return rig.gradient(rig.parameters()[parameter]); }
  BlockRig rig;
};

TEST(SparseLinear, EqualsADenseLayerWithZeros) {
  const ops::SparseLinear spec = sparse(33, 67, 0.2);
  const tensor::SparsePattern& pattern = *spec.pattern;
  const Floats weight = random_floats(static_cast<std::size_t>(pattern.size()), 1);
  const Floats bias = random_floats(33, 2);
  for (const std::int64_t batch : {1, 5, 64, 100}) {
    for (const ops::ActivationKind kind :
         {ops::ActivationKind::relu, ops::ActivationKind::tanh, ops::ActivationKind::clip}) {
      SCOPED_TRACE(batch);
      const ops::Activation activation{kind, 0.5};
      PlainBlock thin(block_of(spec, activation), {batch, 67});
      PlainBlock dense(block_of(ops::Linear{.out_features = 33}, activation), {batch, 67});
      thin.set(0, weight);
      dense.set(0, spread(pattern, weight));
      for (PlainBlock* one : {&thin, &dense}) one->set(1, bias);
      const Floats src = random_floats(static_cast<std::size_t>(batch) * 67, 3);
      const Floats dst = dense.rig.forward(src);
      expect_close(thin.rig.forward(src), dst, kTolerance, "dst");
      const Floats diff = random_floats(dst.size(), 4);
      expect_close(thin.rig.backward(diff), dense.rig.backward(diff), kTolerance, "diff_src");
      expect_close(thin.gradient(0), gathered(pattern, dense.gradient(0)), kTolerance, "weight");
      expect_close(thin.gradient(1), dense.gradient(1), kTolerance, "bias");
    }
  }
}

/// Through a fused activation, one that is not fused, and none.
TEST(SparseLinear, LetsNanThrough) {
  using K = ops::ActivationKind;
  const ops::SparseLinear spec = sparse(12, 15, 0.4);
  const tensor::SparsePattern& pattern = *spec.pattern;
  constexpr std::int64_t batch = 70;
  const std::int32_t column = pattern.row(0).front();
  for (const auto& activation : std::vector<std::optional<ops::Activation>>{
           {}, {{K::relu}}, {{K::tanh}}, {{K::clip, 0.5}}, {{K::sigmoid}}}) {
    PlainBlock block(block_of(spec, activation), {batch, 15});
    block.set(0, random_floats(static_cast<std::size_t>(pattern.size()), 1));
    block.set(1, random_floats(12, 2));
    Floats src = random_floats(batch * 15, 3);
    src[static_cast<std::size_t>(66 * 15 + column)] = kNan;
    const Floats dst = block.rig.forward(src);
    for (std::int64_t n = 0; n < batch; ++n) {
      for (std::int64_t row = 0; row < 12; ++row) {
        const bool reads = std::ranges::count(pattern.row(row), column) > 0;
        EXPECT_EQ(std::isnan(dst[static_cast<std::size_t>(n * 12 + row)]), n == 66 && reads)
            << "sample " << n << ", row " << row;
      }
    }
  }
}

TEST(Clip, LetsNanThrough) {
  PlainBlock block(block_of(ops::Activation{ops::ActivationKind::clip, 0.5}, {}), {5, 15});
  Floats src = random_floats(5 * 15, 3);
  src[17] = kNan;
  const Floats dst = block.rig.forward(src);
  for (std::size_t i = 0; i < dst.size(); ++i) EXPECT_EQ(std::isnan(dst[i]), i == 17) << i;
}

TEST(SparseLinear, LetsNanThroughBackward) {
  const ops::SparseLinear spec = sparse(12, 15, 0.4);
  const tensor::SparsePattern& pattern = *spec.pattern;
  PlainBlock block(block_of(spec, {}), {5, 15});
  block.set(0, random_floats(static_cast<std::size_t>(pattern.size()), 1));
  block.set(1, random_floats(12, 2));
  block.rig.forward(random_floats(5 * 15, 3));
  Floats diff = random_floats(5 * 12, 4);
  diff[3 * 12 + 1] = kNan;  // sample 3, row 1
  const Floats diff_src = block.rig.backward(diff);
  for (std::size_t i = 0; i < diff_src.size(); ++i) {
    const auto column = static_cast<std::int32_t>(i % 15);
    const bool hit = i / 15 == 3 && std::ranges::count(pattern.row(1), column) > 0;
    EXPECT_EQ(std::isnan(diff_src[i]), hit) << i;
  }
  const Floats weight = block.gradient(0);
  for (std::int64_t k = 0; k < pattern.size(); ++k) {
    EXPECT_EQ(std::isnan(weight[static_cast<std::size_t>(k)]),
              k >= pattern.row_begin[1] && k < pattern.row_begin[2]);
  }
}

TEST(SparseLinear, AddsAnotherTensorInItsPlaceOrNot) {
  ops::SparseLinear spec = sparse(12, 15, 0.4, false);
  constexpr std::int64_t batch = 70;
  const Floats weight = random_floats(static_cast<std::size_t>(spec.pattern->size()), 1);
  const Floats src = random_floats(batch * 15, 2);
  const Floats there = random_floats(batch * 12, 3);
  PlainBlock whole(block_of(spec, {}), {batch, 15});
  whole.set(0, weight);
  Floats expected = whole.rig.forward(src);
  for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += there[i];

  for (const Backend backend : {Backend::reference, Backend::onednn}) {
    const tensor::Layout layout =
        backend == Backend::onednn ? tensor::Layout::panels : tensor::Layout::plain;
    const tensor::TensorDesc src_desc{.shape = {batch, 15}, .layout = layout};
    const tensor::TensorDesc dst_desc{.shape = {batch, 12}, .layout = layout};
    LayerRequest request{.spec = spec, .srcs = {src_desc, dst_desc}, .residual = true};
    const auto layer = make_layer(request, backend);
    EXPECT_TRUE(layer->traits().adds_in_place);
    Memory from(to_physical(src_desc, src, Padding::activation));
    Memory sums(to_physical(layer->dst_desc(), there, Padding::activation));
    Memory to(to_physical(layer->dst_desc(), random_floats(batch * 12, 4), Padding::activation));
    Memory weights(layer->parameter_slots()[0].physical_size * sizeof(float));
    layer->pack_parameter(0, weight.data(), weights.floats());
    LayerArgs args;
    args.weights = weights.floats();
    for (Memory* dst : {&to, &sums}) {
      args.src = {{from.data(), src_desc}, {sums.data(), layer->dst_desc()}};
      args.dst = {dst->data(), layer->dst_desc()};
      layer->forward(args);
      expect_close(to_plain(layer->dst_desc(), dst->floats(), Padding::activation), expected,
                   kTolerance, to_string(backend));
    }
  }
}

}  // namespace
}  // namespace plait::kernels::layer_testing
