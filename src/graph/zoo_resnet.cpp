// Post-activation ResNets, CIFAR and ImageNet style. Block and layer names follow torchvision
// ("layer1.0" with conv1, bn1, downsample.0, ...); what torchvision keeps outside the layers is in
// the blocks "stem" and "head".
#include <fmt/format.h>

#include <array>

#include "graph/zoo_families.hpp"

namespace plait::graph::zoo {

namespace {

struct Residual {
  std::int64_t in = 0;
  std::int64_t width = 0;
  std::int64_t stride = 1;
  bool bottleneck = false;

  std::int64_t out() const { return bottleneck ? 4 * width : width; }
};

BlockSpec residual_block(std::string name, const Residual& shape) {
  BlockSpec block{.name = std::move(name), .nodes = {}};
  const auto conv_bn = [&](int number, const ops::Convolution& conv) {
    block.then(fmt::format("conv{}", number), conv);
    return block.then(fmt::format("bn{}", number), ops::BatchNorm{});
  };
  int branch = 0;
  if (shape.bottleneck) {
    conv_bn(1, convolution(shape.width, 1, 1, false));
    block.then("relu1", relu());
    conv_bn(2, convolution(shape.width, 3, shape.stride, false));
    block.then("relu2", relu());
    branch = conv_bn(3, convolution(shape.out(), 1, 1, false));
  } else {
    conv_bn(1, convolution(shape.width, 3, shape.stride, false));
    block.then("relu1", relu());
    branch = conv_bn(2, convolution(shape.width, 3, 1, false));
  }
  int skip = kBlockInput;
  if (shape.stride != 1 || shape.in != shape.out()) {
    block.join("downsample.0", convolution(shape.out(), 1, shape.stride, false), {kBlockInput});
    skip = block.then("downsample.1", ops::BatchNorm{});
  }
  block.join("add", ops::Add{}, {branch, skip});
  block.then(shape.bottleneck ? "relu3" : "relu2", relu());
  return block;
}

BlockSpec stem_block(const ops::Convolution& conv) {
  BlockSpec stem{.name = "stem", .nodes = {}};
  stem.then("conv1", conv);
  stem.then("bn1", ops::BatchNorm{});
  stem.then("relu", relu());
  return stem;
}

struct Stages {
  std::vector<int> sizes;
  std::int64_t width = 0;  ///< of the first stage; doubles with every stage
  bool bottleneck = false;
};

/// All stages and the head behind the blocks that `model` already has; `width` channels come in.
void append_stages(ModelSpec& model, const Stages& stages, std::int64_t classes) {
  std::int64_t in = stages.width;
  std::int64_t width = stages.width;
  for (std::size_t stage = 0; stage < stages.sizes.size(); ++stage, width *= 2) {
    for (int i = 0; i < stages.sizes[stage]; ++i) {
      const Residual shape{.in = in,
                           .width = width,
                           .stride = i == 0 && stage > 0 ? 2 : 1,
                           .bottleneck = stages.bottleneck};
      model.blocks.push_back(residual_block(fmt::format("layer{}.{}", stage + 1, i), shape));
      in = shape.out();
    }
  }
  BlockSpec head{.name = "head", .nodes = {}};
  append_classifier(head, classes);
  model.blocks.push_back(std::move(head));
}

}  // namespace

ModelSpec cifar_resnet(const Task& task, int depth) {
  require_image(task, 1);
  ModelSpec model{.name = task.name, .input = task.input, .blocks = {}};
  model.blocks.push_back(stem_block(convolution(16, 3, 1, false)));
  const int n = (depth - 2) / 6;
  append_stages(model, {.sizes = {n, n, n}, .width = 16, .bottleneck = false}, task.classes);
  return model;
}

ModelSpec imagenet_resnet(const Task& task, int depth) {
  require_image(task, 1);
  ModelSpec model{.name = task.name, .input = task.input, .blocks = {}};
  const bool large = side_of(task.input) >= 64;
  model.blocks.push_back(
      stem_block(large ? convolution(64, 7, 2, false) : convolution(64, 3, 1, false)));
  if (large) {
    BlockSpec pool{.name = "maxpool", .nodes = {}};
    pool.then(
        "pool",
        ops::Pool{
            .kind = ops::PoolKind::max, .kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}});
    model.blocks.push_back(std::move(pool));
  }
  Stages stages{.sizes = {3, 4, 6, 3}, .width = 64, .bottleneck = depth == 50};
  if (depth == 18) stages.sizes = {2, 2, 2, 2};
  append_stages(model, stages, task.classes);
  return model;
}

}  // namespace plait::graph::zoo
