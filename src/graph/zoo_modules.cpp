// Networks of modules whose branches are put together: GoogLeNet (with BatchNorm, without auxiliary
// classifiers) and SqueezeNet 1.0. A block per convolution, with torchvision's names. Four blocks
// read what an inception module makes, so its concat is a block of its own; the single reader of a
// fire module has the concat inside.
#include <fmt/format.h>

#include <array>

#include "graph/zoo_families.hpp"

namespace plait::graph::zoo {

namespace {

/// Convolution, BatchNorm and ReLU behind what `block` has; `prefix` is put before their names.
void conv_bn_relu(BlockSpec& block, const std::string& prefix, const ops::Convolution& conv) {
  block.then(prefix + "conv", conv);
  block.then(prefix + "bn", ops::BatchNorm{.epsilon = 1e-3});
  block.then(prefix + "relu", relu());
}

int inception_conv(ModelSpec& model, std::string name, const ops::Convolution& conv,
                   std::vector<int> sources) {
  BlockSpec block{.name = std::move(name), .nodes = {}, .inputs = std::move(sources)};
  conv_bn_relu(block, "", conv);
  return append(model, std::move(block));
}

int pool_block(ModelSpec& model, std::string name, const ops::Pool& pool) {
  BlockSpec block{.name = std::move(name), .nodes = {}};
  block.then("pool", pool);
  return append(model, std::move(block));
}

struct Inception {
  std::string name;
  std::int64_t one;                   ///< branch1: 1x1
  std::array<std::int64_t, 2> two;    ///< branch2: 1x1, then 3x3
  std::array<std::int64_t, 2> three;  ///< branch3: the same
  std::int64_t four;                  ///< branch4: pool, then 1x1
};

int inception(ModelSpec& model, const Inception& module, int source) {
  const std::string& name = module.name;
  const auto narrow_then_wide = [&](const char* branch, const std::array<std::int64_t, 2>& widths) {
    const std::string at = name + branch;
    const int narrow =
        inception_conv(model, at + ".0", convolution(widths[0], 1, 1, false), {source});
    return inception_conv(model, at + ".1", convolution(widths[1], 3, 1, false), {narrow});
  };
  std::vector<int> branches{
      inception_conv(model, name + ".branch1", convolution(module.one, 1, 1, false), {source})};
  branches.push_back(narrow_then_wide(".branch2", module.two));
  branches.push_back(narrow_then_wide(".branch3", module.three));
  BlockSpec pooled{.name = name + ".branch4", .nodes = {}, .inputs = {source}};
  pooled.then("0",
              ops::Pool{.kernel = {3, 3}, .stride = {1, 1}, .padding = {1, 1}, .ceil_mode = true});
  conv_bn_relu(pooled, "1.", convolution(module.four, 1, 1, false));
  branches.push_back(append(model, std::move(pooled)));
  BlockSpec all{.name = name, .nodes = {}, .inputs = std::move(branches)};
  all.join("concat", ops::Concat{},
           {block_input(0), block_input(1), block_input(2), block_input(3)});
  return append(model, std::move(all));
}

struct Fire {
  int number;  ///< in torchvision's features
  std::int64_t squeeze;
  std::int64_t expand;
};

/// A block that reads `sources`: one, or the two expansions of the fire module before.
BlockSpec fire_reader(std::string name, const std::vector<int>& sources) {
  BlockSpec block{.name = std::move(name), .nodes = {}, .inputs = sources};
  if (sources.size() == 2) block.join("concat", ops::Concat{}, {block_input(0), block_input(1)});
  return block;
}

std::vector<int> fire(ModelSpec& model, const Fire& module, const std::vector<int>& sources) {
  const std::string name = fmt::format("features.{}", module.number);
  BlockSpec squeeze = fire_reader(name, sources);
  squeeze.then("squeeze", convolution(module.squeeze, 1, 1, true));
  squeeze.then("relu", relu());
  const int squeezed = append(model, std::move(squeeze));
  const auto expand = [&](const char* branch, std::int64_t kernel) {
    BlockSpec block{.name = name + branch, .nodes = {}, .inputs = {squeezed}};
    block.then("conv", convolution(module.expand, kernel, 1, true));
    block.then("relu", relu());
    return append(model, std::move(block));
  };
  const int one = expand(".expand1x1", 1);
  return {one, expand(".expand3x3", 3)};
}

}  // namespace

ModelSpec googlenet(const Task& task) {
  require_image(task, 8);
  ModelSpec model{.name = task.name, .input = task.input, .blocks = {}};
  const bool large = side_of(task.input) >= 64;
  inception_conv(model, "conv1",
                 large ? convolution(64, 7, 2, false) : convolution(64, 3, 1, false), {});
  if (large) pool_block(model, "maxpool1", pool_3x3());
  inception_conv(model, "conv2", convolution(64, 1, 1, false), {});
  inception_conv(model, "conv3", convolution(192, 3, 1, false), {});
  int last = pool_block(model, "maxpool2", pool_3x3());
  const auto module = [&](const Inception& shape) { last = inception(model, shape, last); };
  module({"inception3a", 64, {96, 128}, {16, 32}, 32});
  module({"inception3b", 128, {128, 192}, {32, 96}, 64});
  last = pool_block(model, "maxpool3", pool_3x3());
  module({"inception4a", 192, {96, 208}, {16, 48}, 64});
  module({"inception4b", 160, {112, 224}, {24, 64}, 64});
  module({"inception4c", 128, {128, 256}, {24, 64}, 64});
  module({"inception4d", 112, {144, 288}, {32, 64}, 64});
  module({"inception4e", 256, {160, 320}, {32, 128}, 128});
  last = pool_block(model, "maxpool4", ops::Pool{.ceil_mode = true});
  module({"inception5a", 256, {160, 320}, {32, 128}, 128});
  module({"inception5b", 384, {192, 384}, {48, 128}, 128});
  BlockSpec head{.name = "head", .nodes = {}};
  head.then("pool", ops::GlobalAveragePool{});
  head.then("flatten", ops::Flatten{});
  head.then("dropout", ops::Dropout{.probability = 0.2});
  append(model, std::move(head));
  BlockSpec classifier{.name = "fc", .nodes = {}};
  classifier.then("", ops::Linear{.out_features = task.classes});
  append(model, std::move(classifier));
  return model;
}

ModelSpec squeezenet(const Task& task) {
  require_image(task, 8);
  ModelSpec model{.name = task.name, .input = task.input, .blocks = {}};
  const bool large = side_of(task.input) >= 64;
  BlockSpec stem{.name = "features", .nodes = {}};
  stem.then("0", large ? ops::Convolution{.out_channels = 96, .kernel = {7, 7}, .stride = {2, 2}}
                       : convolution(96, 3, 1, true));
  stem.then("1", relu());
  std::vector<int> last{append(model, std::move(stem))};
  if (large) last = {pool_block(model, "features.2", pool_3x3())};
  const auto pool = [&](const char* name) {
    BlockSpec block = fire_reader(name, last);
    block.then("pool", pool_3x3());
    last = {append(model, std::move(block))};
  };
  const auto module = [&](const Fire& shape) { last = fire(model, shape, last); };
  for (const Fire& shape : {Fire{3, 16, 64}, {4, 16, 64}, {5, 32, 128}}) module(shape);
  pool("features.6");
  for (const Fire& shape : {Fire{7, 32, 128}, {8, 48, 192}, {9, 48, 192}, {10, 64, 256}}) {
    module(shape);
  }
  pool("features.11");
  module({12, 64, 256});
  BlockSpec head = fire_reader("classifier", last);
  head.then("0", ops::Dropout{});
  head.then("1", convolution(task.classes, 1, 1, true));
  head.then("2", relu());
  head.then("3", ops::GlobalAveragePool{});
  head.then("flatten", ops::Flatten{});
  append(model, std::move(head));
  return model;
}

}  // namespace plait::graph::zoo
