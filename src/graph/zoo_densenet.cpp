// DenseNet-121. A dense layer is two blocks: the first puts together all features so far and ends
// with conv1, BatchNorm and ReLU, the second is conv2. "dense1.2" is torchvision's
// features.denseblock1.denselayer2, whose name is too long for tables; layers have its names.
#include <fmt/format.h>

#include <array>

#include "graph/zoo_families.hpp"

namespace plait::graph::zoo {

namespace {

constexpr std::int64_t kGrowth = 32;

/// A block that reads `sources`, one behind the other in channels.
BlockSpec dense_reader(std::string name, const std::vector<int>& sources) {
  BlockSpec block{.name = std::move(name), .nodes = {}, .inputs = sources};
  if (sources.size() > 1) {
    std::vector<int> all;
    for (std::size_t i = 0; i < sources.size(); ++i) {
      all.push_back(block_input(static_cast<int>(i)));
    }
    block.join("concat", ops::Concat{}, std::move(all));
  }
  return block;
}

/// Appends the two blocks of a dense layer; returns the second.
int dense_layer(ModelSpec& model, const std::string& name, const std::vector<int>& sources) {
  BlockSpec first = dense_reader(name, sources);
  first.then("norm1", ops::BatchNorm{});
  first.then("relu1", relu());
  first.then("conv1", convolution(4 * kGrowth, 1, 1, false));
  first.then("norm2", ops::BatchNorm{});
  first.then("relu2", relu());
  append(model, std::move(first));
  BlockSpec second{.name = name + ".conv2", .nodes = {}};
  second.then("", convolution(kGrowth, 3, 1, false));
  return append(model, std::move(second));
}

int densenet_stem(ModelSpec& model, std::int64_t width) {
  const bool large = side_of(model.input) >= 64;
  BlockSpec stem{.name = "stem", .nodes = {}};
  stem.then("conv0", large ? convolution(width, 7, 2, false) : convolution(width, 3, 1, false));
  stem.then("norm0", ops::BatchNorm{});
  stem.then("relu0", relu());
  if (!large) return append(model, std::move(stem));
  append(model, std::move(stem));
  BlockSpec pool{.name = "pool0", .nodes = {}};
  pool.then("pool", ops::Pool{.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}});
  return append(model, std::move(pool));
}

}  // namespace

ModelSpec densenet121(const Task& task) {
  require_image(task, 8);
  constexpr std::array<int, 4> sizes{6, 12, 24, 16};
  ModelSpec model{.name = task.name, .input = task.input, .blocks = {}};
  std::int64_t channels = 64;
  std::vector<int> sources{densenet_stem(model, channels)};
  for (std::size_t stage = 0; stage < sizes.size(); ++stage) {
    for (int i = 0; i < sizes[stage]; ++i, channels += kGrowth) {
      sources.push_back(dense_layer(model, fmt::format("dense{}.{}", stage + 1, i + 1), sources));
    }
    if (stage + 1 == sizes.size()) break;
    channels /= 2;
    BlockSpec transition = dense_reader(fmt::format("transition{}", stage + 1), sources);
    transition.then("norm", ops::BatchNorm{});
    transition.then("relu", relu());
    transition.then("conv", convolution(channels, 1, 1, false));
    transition.then("pool", ops::Pool{.kind = ops::PoolKind::average});
    sources = {append(model, std::move(transition))};
  }
  BlockSpec head = dense_reader("head", sources);
  head.then("norm5", ops::BatchNorm{});
  head.then("relu5", relu());
  head.then("pool", ops::GlobalAveragePool{});
  head.then("flatten", ops::Flatten{});
  append(model, std::move(head));
  BlockSpec classifier{.name = "classifier", .nodes = {}};
  classifier.then("", ops::Linear{.out_features = task.classes});
  append(model, std::move(classifier));
  return model;
}

}  // namespace plait::graph::zoo
