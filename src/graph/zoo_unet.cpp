// U-Net: four times two convolutions and a 2x2 max pool, two at the bottom, then four times
// upsampling, a join with the encoder's tensor of that size and two convolutions. 3x3 convolutions
// with padding, so that the result has the size of the image; BatchNorm and ReLU behind each.
#include <fmt/format.h>

#include <array>

#include "base/error.hpp"
#include "graph/zoo_families.hpp"

namespace plait::graph::zoo {

namespace {

constexpr int kLevels = 4;
constexpr std::int64_t kUnetStep = 1 << kLevels;

/// Convolution, BatchNorm and ReLU behind what the block has.
BlockSpec& with_conv(BlockSpec& block, std::int64_t width) {
  block.then("conv", convolution(width, 3, 1, false));
  block.then("bn", ops::BatchNorm{});
  block.then("relu", relu());
  return block;
}

}  // namespace

ModelSpec unet(const Task& task, std::int64_t width) {
  require_image(task, kUnetStep);
  if (task.input[1] % kUnetStep != 0 || task.input[2] % kUnetStep != 0) {
    user_error(
        "model '{}' halves its images {} times: both sides must be multiples of {}, but the "
        "data has shape {}",
        task.name, kLevels, kUnetStep, task.input);
  }
  ModelSpec model{.name = task.name, .input = task.input, .blocks = {}};
  const auto add = [&](const std::string& name, const auto& first, std::int64_t out) {
    BlockSpec block{.name = name, .nodes = {}};
    first(block);
    return append(model, with_conv(block, out));
  };
  const auto nothing = [](BlockSpec&) {};
  const auto halve = [](BlockSpec& block) { block.then("pool", ops::Pool{}); };
  const auto twice = [](BlockSpec& block) { block.then("upsample", ops::Upsample{}); };
  std::array<int, kLevels> skips{};
  for (int level = 0; level <= kLevels; ++level) {
    const std::string name = fmt::format("down{}", level);
    if (level == 0) {
      add(name + ".conv1", nothing, width);
    } else {
      add(name + ".conv1", halve, width << level);
    }
    const int last = add(name + ".conv2", nothing, width << level);
    if (level < kLevels) skips.at(static_cast<std::size_t>(level)) = last;
  }
  for (int level = kLevels - 1; level >= 0; --level) {
    const std::string name = fmt::format("up{}", level);
    const int larger = add(name, twice, width << level);
    const auto join = [&](BlockSpec& block) {
      block.inputs = {skips.at(static_cast<std::size_t>(level)), larger};
      block.join("concat", ops::Concat{}, {block_input(0), block_input(1)});
    };
    add(name + ".conv1", join, width << level);
    add(name + ".conv2", nothing, width << level);
  }
  BlockSpec head{.name = "head", .nodes = {}};
  head.then("conv", convolution(task.classes, 1, 1, true));
  append(model, std::move(head));
  return model;
}

}  // namespace plait::graph::zoo
