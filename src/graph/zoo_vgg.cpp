// VGG with BatchNorm. Blocks conv1_1, conv1_2, pool1, ..., then the head: one linear layer below 64
// pixels, three with dropout from there.
#include <fmt/format.h>

#include <array>

#include "graph/zoo_families.hpp"

namespace plait::graph::zoo {

namespace {

/// Convolutions in each of the five stages.
std::array<int, 5> stage_sizes(int depth) {
  switch (depth) {
    case 11: return {1, 1, 2, 2, 2};
    case 13: return {2, 2, 2, 2, 2};
    case 16: return {2, 2, 3, 3, 3};
    default: return {2, 2, 4, 4, 4};
  }
}

void append_big_head(ModelSpec& model, std::int64_t classes) {
  BlockSpec first{.name = "fc1", .nodes = {}};
  first.then("flatten", ops::Flatten{});
  first.then("linear", ops::Linear{.out_features = 4096});
  first.then("relu", relu());
  first.then("dropout", ops::Dropout{});
  model.blocks.push_back(std::move(first));
  BlockSpec second{.name = "fc2", .nodes = {}};
  second.then("linear", ops::Linear{.out_features = 4096});
  second.then("relu", relu());
  second.then("dropout", ops::Dropout{});
  model.blocks.push_back(std::move(second));
  BlockSpec third{.name = "fc3", .nodes = {}};
  third.then("linear", ops::Linear{.out_features = classes});
  model.blocks.push_back(std::move(third));
}

}  // namespace

ModelSpec vgg(const Task& task, int depth) {
  require_image(task, 32);
  constexpr std::array<std::int64_t, 5> widths{64, 128, 256, 512, 512};
  const std::array<int, 5> sizes = stage_sizes(depth);
  ModelSpec model{.name = task.name, .input = task.input, .blocks = {}};
  for (std::size_t stage = 0; stage < widths.size(); ++stage) {
    for (int i = 0; i < sizes[stage]; ++i) {
      BlockSpec block{.name = fmt::format("conv{}_{}", stage + 1, i + 1), .nodes = {}};
      block.then("conv", convolution(widths[stage], 3, 1, true));
      block.then("bn", ops::BatchNorm{});
      block.then("relu", relu());
      model.blocks.push_back(std::move(block));
    }
    BlockSpec pool{.name = fmt::format("pool{}", stage + 1), .nodes = {}};
    pool.then("pool", ops::Pool{});
    model.blocks.push_back(std::move(pool));
  }
  if (side_of(task.input) < 64) {
    BlockSpec head{.name = "fc", .nodes = {}};
    head.then("flatten", ops::Flatten{});
    head.then("linear", ops::Linear{.out_features = task.classes});
    model.blocks.push_back(std::move(head));
  } else {
    append_big_head(model, task.classes);
  }
  return model;
}

}  // namespace plait::graph::zoo
