// Perceptrons and LeNet, and what all families share.
#include <algorithm>

#include "base/error.hpp"
#include "graph/zoo_families.hpp"

namespace plait::graph::zoo {

void require_image(const Task& task, std::int64_t side) {
  if (task.input.rank() != 3) {
    user_error("model '{}' needs images CxHxW but the data has shape {}; try mlp", task.name,
               task.input);
  }
  if (side_of(task.input) < side) {
    user_error("model '{}' needs images of at least {}x{} pixels but the data has shape {}; try {}",
               task.name, side, side, task.input, side_of(task.input) < 16 ? "resnet20" : "lenet");
  }
}

std::int64_t side_of(const tensor::Shape& image) { return std::min(image[1], image[2]); }

ops::Convolution convolution(std::int64_t out, std::int64_t kernel, std::int64_t stride,
                             bool bias) {
  return {.out_channels = out,
          .kernel = {kernel, kernel},
          .stride = {stride, stride},
          .padding = {kernel / 2, kernel / 2},
          .bias = bias};
}

ops::Operation relu() { return ops::Activation{ops::ActivationKind::relu}; }

ops::Pool pool_3x3() {
  return {.kind = ops::PoolKind::max, .kernel = {3, 3}, .stride = {2, 2}, .ceil_mode = true};
}

int append(ModelSpec& model, BlockSpec block) {
  model.blocks.push_back(std::move(block));
  return static_cast<int>(model.blocks.size()) - 1;
}

void append_classifier(BlockSpec& head, std::int64_t classes) {
  head.then("pool", ops::GlobalAveragePool{});
  head.then("flatten", ops::Flatten{});
  head.then("fc", ops::Linear{.out_features = classes});
}

ModelSpec mlp(const Task& task, const std::vector<std::int64_t>& widths) {
  ModelSpec model{.name = task.name, .input = task.input, .blocks = {}};
  for (std::size_t i = 0; i <= widths.size(); ++i) {
    BlockSpec block{.name = fmt::format("fc{}", i + 1), .nodes = {}};
    if (i == 0 && task.input.rank() != 1) block.then("flatten", ops::Flatten{});
    const bool last = i == widths.size();
    block.then("linear", ops::Linear{.out_features = last ? task.classes : widths[i]});
    if (!last) block.then("relu", relu());
    model.blocks.push_back(std::move(block));
  }
  return model;
}

ModelSpec lenet(const Task& task) {
  require_image(task, 16);
  ModelSpec model{.name = task.name, .input = task.input, .blocks = {}};
  const auto add = [&](const std::string& name) -> BlockSpec& {
    return model.blocks.emplace_back(BlockSpec{.name = name, .nodes = {}});
  };
  add("conv1").then("conv", ops::Convolution{.out_channels = 20, .kernel = {5, 5}});
  add("pool1").then("pool", ops::Pool{});
  add("conv2").then("conv", ops::Convolution{.out_channels = 50, .kernel = {5, 5}});
  add("pool2").then("pool", ops::Pool{});
  BlockSpec& hidden = add("fc1");
  hidden.then("flatten", ops::Flatten{});
  hidden.then("linear", ops::Linear{.out_features = 500});
  hidden.then("relu", relu());
  add("fc2").then("linear", ops::Linear{.out_features = task.classes});
  return model;
}

}  // namespace plait::graph::zoo
