// Pre-activation ResNets of depth 9n+2 (ResNet-164, ResNet-1001): stem, three stages of n
// bottlenecks and a head that begins with the last BatchNorm.
#include <fmt/format.h>

#include "graph/zoo_families.hpp"

namespace plait::graph::zoo {

namespace {

struct Bottleneck {
  std::int64_t inner = 0;
  std::int64_t stride = 1;
  bool first = false;  ///< of its stage: the skip path is a convolution of the first BN-ReLU
};

BlockSpec bottleneck_block(std::string name, const Bottleneck& shape) {
  BlockSpec block{.name = std::move(name), .nodes = {}};
  const auto bn_relu_conv = [&](int number, const ops::Convolution& conv) {
    block.then(fmt::format("bn{}", number), ops::BatchNorm{});
    block.then(fmt::format("relu{}", number), relu());
    return block.then(fmt::format("conv{}", number), conv);
  };
  const int first_relu = 1;
  bn_relu_conv(1, convolution(shape.inner, 1, shape.stride, false));
  bn_relu_conv(2, convolution(shape.inner, 3, 1, false));
  const int branch = bn_relu_conv(3, convolution(4 * shape.inner, 1, 1, false));
  int skip = kBlockInput;
  if (shape.first) {
    skip =
        block.join("shortcut", convolution(4 * shape.inner, 1, shape.stride, false), {first_relu});
  }
  block.join("add", ops::Add{}, {branch, skip});
  return block;
}

}  // namespace

ModelSpec preact_resnet(const Task& task, int depth) {
  require_image(task, 1);
  ModelSpec model{.name = task.name, .input = task.input, .blocks = {}};
  BlockSpec stem{.name = "stem", .nodes = {}};
  stem.then("conv", convolution(16, 3, 1, false));
  model.blocks.push_back(std::move(stem));
  const int n = (depth - 2) / 9;
  for (int stage = 0; stage < 3; ++stage) {
    for (int i = 0; i < n; ++i) {
      model.blocks.push_back(bottleneck_block(
          fmt::format("layer{}.{}", stage + 1, i),
          {.inner = 16 << stage, .stride = i == 0 && stage > 0 ? 2 : 1, .first = i == 0}));
    }
  }
  BlockSpec head{.name = "head", .nodes = {}};
  head.then("bn", ops::BatchNorm{});
  head.then("relu", relu());
  append_classifier(head, task.classes);
  model.blocks.push_back(std::move(head));
  return model;
}

}  // namespace plait::graph::zoo
