// The built-in images: reproducible, balanced, and too hard for a linear classifier.
#include "data/glyphs.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "data/batch.hpp"
#include "data/bytes.hpp"
#include "data/open.hpp"

namespace plait::data {
namespace {

const Bytes& pixels_of(const MemoryDataset& dataset) {
  return std::get<std::vector<std::uint8_t>>(dataset.data().images);
}

TEST(Glyphs, DependOnSeedSplitAndNumberOnly) {
  const auto many = draw_glyphs({.seed = 7, .count = 40});
  const auto few = draw_glyphs({.seed = 7, .count = 10});
  EXPECT_TRUE(std::equal(pixels_of(*few).begin(), pixels_of(*few).end(), pixels_of(*many).begin()));
  EXPECT_NE(pixels_of(*few), pixels_of(*draw_glyphs({.seed = 8, .count = 10})));
  EXPECT_NE(pixels_of(*few),
            pixels_of(*draw_glyphs({.seed = 7, .split = GlyphSplit::test, .count = 10})));
}

TEST(Glyphs, AllClassesAboutEqually) {
  const auto dataset = draw_glyphs({.count = 6000});
  EXPECT_EQ(dataset->size(), 6000);
  EXPECT_EQ(dataset->sample_shape(), (tensor::Shape{1, 28, 28}));
  std::array<int, 10> counts{};
  for (const float label : dataset->data().targets) ++counts.at(static_cast<std::size_t>(label));
  EXPECT_GT(*std::min_element(counts.begin(), counts.end()), 500);
}

/// Softmax regression by plain SGD: logits = W x + b.
class Linear {
 public:
  void train(const Batch& batch, float rate) {
    for (std::size_t n = 0; n < static_cast<std::size_t>(batch.size()); ++n) {
      const float* x = batch.images.floats().data() + n * kInputs;
      std::array<float, 10> p = logits(x);
      const float top = *std::max_element(p.begin(), p.end());
      float sum = 0;
      for (float& v : p) sum += v = std::exp(v - top);
      for (std::size_t c = 0; c < 10; ++c) {
        const float target = batch.targets.floats()[n] == static_cast<float>(c) ? 1.0F : 0.0F;
        const float step = rate * (p[c] / sum - target);
        for (std::size_t i = 0; i < kInputs; ++i) weights_[c * kInputs + i] -= step * x[i];
        bias_[c] -= step;
      }
    }
  }

  double accuracy(const Batch& batch) const {
    int right = 0;
    for (std::size_t n = 0; n < static_cast<std::size_t>(batch.size()); ++n) {
      const auto p = logits(batch.images.floats().data() + n * kInputs);
      const auto best = std::max_element(p.begin(), p.end()) - p.begin();
      right += static_cast<float>(best) == batch.targets.floats()[n] ? 1 : 0;
    }
    return static_cast<double>(right) / static_cast<double>(batch.size());
  }

 private:
  static constexpr std::size_t kInputs = 784;

  std::array<float, 10> logits(const float* x) const {
    std::array<float, 10> out = bias_;
    for (std::size_t c = 0; c < 10; ++c) {
      std::array<float, 8> lanes{};
      for (std::size_t i = 0; i < kInputs; ++i) lanes[i % 8] += weights_[c * kInputs + i] * x[i];
      for (const float lane : lanes) out[c] += lane;
    }
    return out;
  }

  std::vector<float> weights_ = std::vector<float>(10 * kInputs);
  std::array<float, 10> bias_{};
};

// The glyphs are only worth training on if the linear model, trained to its end, stays behind.
TEST(Glyphs, LinearModelStaysBelowNinetyPercent) {
  const Splits splits = open_data("glyphs");
  const BatchStream train(splits.train, {.batch = 64});
  const BatchStream test(splits.test, {.batch = 1000, .shuffle = false});
  const Batch all = test.load(0, 0);
  Linear model;
  double best = 0;
  for (std::uint64_t epoch = 0; epoch < 12; ++epoch) {
    for (std::int64_t i = 0; i < train.batches_per_epoch(); ++i) {
      model.train(train.load(epoch, i), epoch < 6 ? 3e-4F : 5e-5F);
    }
    best = std::max(best, model.accuracy(all));
  }
  RecordProperty("linear_accuracy", std::to_string(best));
  EXPECT_LT(best, 0.90);
  EXPECT_GT(best, 0.50) << "the model did not learn: the bound above says nothing";
}

}  // namespace
}  // namespace plait::data
