// Embedding: rows by number, the sum of gradients over the places of a row, and what is no number.
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <fstream>

#include "base/error.hpp"
#include "kernels/block.hpp"
#include "kernels/layer_testing.hpp"

namespace plait::kernels::layer_testing {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

/// 2 samples of 3 ids below 4, rows of 2.
struct EmbeddingRig {
  explicit EmbeddingRig(std::int64_t width = 2, int threads = 1)
      : layer(make_layer({.spec = ops::Embedding{.vocabulary = 4, .width = width},
                          .srcs = {ids.desc()},
                          .threads = threads,
                          .name = "e"},
                         Backend::onednn)),
        weights(tensor::Shape{4, width}),
        gradient(tensor::Shape{4, width}),
        dst(layer->dst_desc()),
        diff_dst(layer->dst_desc()) {
    const std::vector<std::int32_t> values{3, 0, 3, 1, 3, 0};
    std::ranges::copy(values, ids.as<std::int32_t>().begin());
  }

  LayerArgs args() {
    LayerArgs all;
    all.src = {ids};
    all.dst = dst;
    all.diff_dst = diff_dst;
    all.weights = weights.floats().data();
    all.diff_weights = gradient.floats().data();
    return all;
  }
  double loss() {  // <dst, diff_dst>
    layer->forward(args());
    double sum = 0;
    for (std::size_t i = 0; i < dst.floats().size(); ++i) {
      sum += static_cast<double>(dst.floats()[i]) * diff_dst.floats()[i];
    }
    return sum;
  }

  tensor::Tensor ids{tensor::Shape{2, 3}, tensor::DType::i32};
  std::unique_ptr<Layer> layer;
  tensor::Tensor weights, gradient, dst, diff_dst;
};

Floats floats_in(const tensor::Tensor& tensor) {
  return {tensor.floats().begin(), tensor.floats().end()};
}

void put(const Floats& values, tensor::Tensor& tensor) {
  std::ranges::copy(values, tensor.floats().begin());
}

TEST(EmbeddingTest, TakesRowsAndAddsTheirGradients) {
  EmbeddingRig rig;
  EXPECT_EQ(rig.dst.shape(), (tensor::Shape{2, 3, 2}));
  put({1, 2, 10, 20, 100, 200, 1000, 2000}, rig.weights);
  rig.layer->forward(rig.args());
  EXPECT_EQ(floats_in(rig.dst), (Floats{1000, 2000, 1, 2, 1000, 2000, 10, 20, 1000, 2000, 1, 2}));
  put({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, rig.diff_dst);
  put(Floats(8, 77), rig.gradient);  // is overwritten
  rig.layer->backward_weights(rig.args());
  EXPECT_EQ(floats_in(rig.gradient), (Floats{14, 16, 7, 8, 0, 0, 15, 18}));
}

TEST(EmbeddingTest, AgreesWithPyTorch) {
  std::ifstream file(PLAIT_SOURCE_DIR "/tests/kernels/recorded_layers.json");
  const auto record = nlohmann::json::parse(file).at("embedding");
  const auto values = [&](const char* name) { return record.at(name).at("data").get<Floats>(); };
  const auto extents = [&](const char* name) {
    return tensor::Shape(record.at(name).at("shape").get<std::vector<std::int64_t>>());
  };
  tensor::Tensor ids(extents("ids"), tensor::DType::i32);
  std::ranges::copy(record.at("ids").at("data").get<std::vector<std::int32_t>>(),
                    ids.as<std::int32_t>().begin());
  tensor::Tensor weights(extents("weight")), gradient(extents("weight"));
  const auto layer = make_layer(
      {.spec = ops::Embedding{.vocabulary = weights.shape()[0], .width = weights.shape()[1]},
       .srcs = {ids.desc()},
       .name = "e"},
      Backend::reference);
  tensor::Tensor dst(layer->dst_desc()), diff_dst(layer->dst_desc());
  put(values("weight"), weights);
  put(values("diff_dst"), diff_dst);
  LayerArgs args;
  args.src = {ids};
  args.dst = dst;
  args.diff_dst = diff_dst;
  args.weights = weights.floats().data();
  args.diff_weights = gradient.floats().data();
  layer->forward(args);
  layer->backward_weights(args);
  EXPECT_EQ(dst.shape(), extents("dst"));
  EXPECT_EQ(floats_in(dst), values("dst"));
  expect_close(floats_in(gradient), values("gradient"), 1e-6, "gradient");
}

TEST(EmbeddingTest, GradientIsThatOfFiniteDifferences) {
  EmbeddingRig rig(5);
  put(random_floats(20, 1), rig.weights);
  put(random_floats(30, 2), rig.diff_dst);
  rig.loss();
  rig.layer->backward_weights(rig.args());
  for (std::size_t i = 0; i < 20; ++i) {
    const float before = rig.weights.floats()[i];
    rig.weights.floats()[i] = before + 0.5F;
    const double above = rig.loss();
    rig.weights.floats()[i] = before - 0.5F;
    EXPECT_NEAR(above - rig.loss(), rig.gradient.floats()[i], 1e-5) << i;
    rig.weights.floats()[i] = before;
  }
}

TEST(EmbeddingTest, ThreadsDoNotChangeBits) {
  Floats results[2];
  for (const int threads : {1, 2}) {
    EmbeddingRig rig(150, threads);
    put(random_floats(900, 3), rig.diff_dst);
    rig.layer->backward_weights(rig.args());
    results[threads - 1] = floats_in(rig.gradient);
  }
  EXPECT_EQ(results[0], results[1]);
}

TEST(EmbeddingTest, RefusesWhatIsNotInItsTable) {
  for (const std::int32_t id : {-1, 4, 1 << 30}) {
    EmbeddingRig rig;
    rig.ids.as<std::int32_t>()[4] = id;
    const std::string text = "layer 'e': the id " + std::to_string(id);
    EXPECT_THAT([&] { rig.layer->forward(rig.args()); }, ThrowsMessage<Failure>(HasSubstr(text)));
    EXPECT_THAT([&] { rig.layer->backward_weights(rig.args()); },
                ThrowsMessage<Failure>(HasSubstr(text)));
  }
  EmbeddingRig rig;
  LayerArgs args = rig.args();
  const tensor::Tensor floats(tensor::Shape{2, 3});
  args.src = {floats};
  EXPECT_THAT([&] { rig.layer->forward(args); },
              ThrowsMessage<Failure>(HasSubstr("a tensor 2x3 of f32 is used as i32")));
  EXPECT_THAT(
      [&] {
        make_layer({.spec = ops::Linear{.out_features = 2}, .srcs = {rig.ids.desc()}, .name = "l"},
                   Backend::reference);
      },
      ThrowsMessage<Failure>(HasSubstr("takes plain f32 sources but got plain i32")));
}

TEST(EmbeddingTest, BlockHasNoGradientForNumbers) {
  graph::BlockSpec spec{.name = "b", .nodes = {}};
  spec.then("embedding", ops::Embedding{.vocabulary = 4, .width = 2});
  const Block block(spec, tensor::TensorDesc{.shape = {2, 3}, .dtype = tensor::DType::i32}, {});
  EXPECT_FALSE(block.has_backward_data());
  EXPECT_TRUE(block.has_backward_weights());
  EXPECT_TRUE(block.traits().weights_read_src);
  EXPECT_EQ(block.parameters().at(0).name, "embedding.weight");
}

}  // namespace
}  // namespace plait::kernels::layer_testing
