// Networks of inverted residuals: MobileNetV2 and EfficientNet-B0 (without stochastic depth). A
// block per convolution with its BatchNorm and activation, and one per squeeze-and-excitation, with
// torchvision's names. Below 64 pixels the first two strides are 1.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "graph/zoo_families.hpp"

namespace plait::graph::zoo {

namespace {

/// A block of convolution, BatchNorm and activation: its layers "0", "1" and "2".
struct ConvNorm {
  std::string name;
  ops::Convolution conv;
  ops::Operation activation;
  std::vector<int> sources{};
};

int conv_norm(ModelSpec& model, ConvNorm what) {
  BlockSpec block{.name = std::move(what.name), .nodes = {}, .inputs = std::move(what.sources)};
  block.then("0", what.conv);
  block.then("1", ops::BatchNorm{});
  block.then("2", std::move(what.activation));
  return append(model, std::move(block));
}

ops::Convolution depthwise(std::int64_t channels, std::int64_t kernel, std::int64_t stride) {
  ops::Convolution conv = convolution(channels, kernel, stride, false);
  conv.groups = channels;
  return conv;
}

/// A 1x1 convolution and BatchNorm behind the block before, plus the output of `skip` unless that
/// is kNoSkip. `first` is the number of its convolution among its layers.
constexpr int kNoSkip = -2;
struct Projection {
  std::string name;
  std::int64_t out = 0;
  int first = 0;
  int skip = kNoSkip;
};

int project(ModelSpec& model, const Projection& what) {
  BlockSpec block{.name = what.name, .nodes = {}};
  block.then(std::to_string(what.first), convolution(what.out, 1, 1, false));
  const int norm = block.then(std::to_string(what.first + 1), ops::BatchNorm{});
  if (what.skip != kNoSkip) {
    block.inputs = {static_cast<int>(model.blocks.size()) - 1, what.skip};
    block.join("add", ops::Add{}, {norm, block_input(1)});
  }
  return append(model, std::move(block));
}

/// Pool, two 1x1 convolutions, sigmoid: a factor for each channel of the block before.
void squeeze_excite(ModelSpec& model, std::string name, std::int64_t squeezed,
                    std::int64_t channels) {
  BlockSpec block{.name = std::move(name), .nodes = {}};
  block.then("pool", ops::GlobalAveragePool{});
  block.then("fc1", convolution(squeezed, 1, 1, true));
  block.then("silu", ops::Activation{.kind = ops::ActivationKind::silu});
  block.then("fc2", convolution(channels, 1, 1, true));
  const int factors = block.then("sigmoid", ops::Activation{.kind = ops::ActivationKind::sigmoid});
  block.join("multiply", ops::Multiply{}, {kBlockInput, factors});
  append(model, std::move(block));
}

/// A stage of inverted residuals; only the first has the stride.
struct InvertedStage {
  std::int64_t expand;
  std::int64_t kernel;
  std::int64_t stride;
  std::int64_t out;
  int repeats;
};

/// One of a stage: `channels` come from block `last`.
struct Inverted {
  const InvertedStage& stage;
  int number = 0;  ///< within the stage
  std::string name{};
  std::int64_t channels = 0;
  int last = 0;

  std::int64_t inner() const { return stage.expand * channels; }
  std::int64_t stride() const { return number == 0 ? stage.stride : 1; }
  int skip() const { return stride() == 1 && channels == stage.out ? last : kNoSkip; }
};

/// The 1x1 convolution to more channels, where it has one, and the depthwise one behind it. Returns
/// how many blocks that were: the number of the next.
int expand_and_filter(ModelSpec& model, const Inverted& what, const ops::Operation& activation) {
  int layer = 0;
  const auto name = [&] { return fmt::format("{}.{}", what.name, layer++); };
  if (what.stage.expand != 1) {
    conv_norm(model, {name(), convolution(what.inner(), 1, 1, false), activation, {what.last}});
  }
  conv_norm(model, {name(), depthwise(what.inner(), what.stage.kernel, what.stride()), activation});
  return layer;
}

void append_mobile_head(ModelSpec& model, std::int64_t classes) {
  BlockSpec head{.name = "classifier", .nodes = {}};
  head.then("pool", ops::GlobalAveragePool{});
  head.then("flatten", ops::Flatten{});
  head.then("0", ops::Dropout{.probability = 0.2});
  head.then("1", ops::Linear{.out_features = classes});
  append(model, std::move(head));
}

}  // namespace

ModelSpec mobilenet_v2(const Task& task) {
  require_image(task, 8);
  const std::int64_t early = side_of(task.input) >= 64 ? 2 : 1;
  const std::array<InvertedStage, 7> stages{{{1, 3, 1, 16, 1},
                                             {6, 3, early, 24, 2},
                                             {6, 3, 2, 32, 3},
                                             {6, 3, 2, 64, 4},
                                             {6, 3, 1, 96, 3},
                                             {6, 3, 2, 160, 3},
                                             {6, 3, 1, 320, 1}}};
  const ops::Operation relu6 = ops::Activation{.kind = ops::ActivationKind::clip, .ceiling = 6};
  ModelSpec model{.name = task.name, .input = task.input, .blocks = {}};
  int last = conv_norm(model, {"features.0", convolution(32, 3, early, false), relu6});
  std::int64_t channels = 32;
  int number = 1;
  for (const InvertedStage& stage : stages) {
    for (int i = 0; i < stage.repeats; ++i, ++number) {
      const Inverted one{stage, i, fmt::format("features.{}.conv", number), channels, last};
      const int layer = expand_and_filter(model, one, relu6);
      last = project(model, {one.name, stage.out, layer, one.skip()});
      channels = stage.out;
    }
  }
  conv_norm(model, {fmt::format("features.{}", number), convolution(1280, 1, 1, false), relu6});
  append_mobile_head(model, task.classes);
  return model;
}

ModelSpec efficientnet_b0(const Task& task) {
  require_image(task, 8);
  const std::int64_t early = side_of(task.input) >= 64 ? 2 : 1;
  const std::array<InvertedStage, 7> stages{{{1, 3, 1, 16, 1},
                                             {6, 3, early, 24, 2},
                                             {6, 5, 2, 40, 2},
                                             {6, 3, 2, 80, 3},
                                             {6, 5, 1, 112, 3},
                                             {6, 5, 2, 192, 4},
                                             {6, 3, 1, 320, 1}}};
  const ops::Operation silu = ops::Activation{.kind = ops::ActivationKind::silu};
  ModelSpec model{.name = task.name, .input = task.input, .blocks = {}};
  int last = conv_norm(model, {"features.0", convolution(32, 3, early, false), silu});
  std::int64_t channels = 32;
  for (std::size_t number = 0; number < stages.size(); ++number) {
    const InvertedStage& stage = stages[number];
    for (int i = 0; i < stage.repeats; ++i) {
      const Inverted one{stage, i, fmt::format("features.{}.{}.block", number + 1, i), channels,
                         last};
      const int layer = expand_and_filter(model, one, silu);
      squeeze_excite(model, fmt::format("{}.{}", one.name, layer),
                     std::max<std::int64_t>(1, channels / 4), one.inner());
      last = project(model, {fmt::format("{}.{}", one.name, layer + 1), stage.out, 0, one.skip()});
      channels = stage.out;
    }
  }
  conv_norm(model, {"features.8", convolution(1280, 1, 1, false), silu});
  append_mobile_head(model, task.classes);
  return model;
}

}  // namespace plait::graph::zoo
