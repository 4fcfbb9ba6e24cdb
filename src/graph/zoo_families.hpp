// The families behind zoo.hpp, one file each. Inside this room only.
#pragma once

#include <string>
#include <vector>

#include "graph/spec.hpp"

namespace plait::graph::zoo {

/// What every family needs to know.
struct Task {
  std::string name;
  tensor::Shape input;
  std::int64_t classes = 0;
};

/// Hidden layers with ReLU; no widths: softmax regression.
ModelSpec mlp(const Task& task, const std::vector<std::int64_t>& widths);
ModelSpec lenet(const Task& task);
/// Sparse layers as in the GraphChallenge, `size` as in "1024x120".
ModelSpec radixnet(const Task& task, const std::string& size);
/// The official network in a folder of TSV files, with its weights and a dense head.
ModelSpec graphchallenge(const Task& task, const std::string& folder);
/// 11, 13, 16 or 19.
ModelSpec vgg(const Task& task, int depth);
/// 6n+2: BasicBlocks of widths 16, 32, 64; projections (option B) where the shape changes.
ModelSpec cifar_resnet(const Task& task, int depth);
/// 18, 34 or 50.
ModelSpec imagenet_resnet(const Task& task, int depth);
/// 9n+2: pre-activation bottlenecks of widths 64, 128, 256.
ModelSpec preact_resnet(const Task& task, int depth);

/// The five below are torchvision's, with its names of parameters. Images below 64 pixels get a
/// smaller stem and keep 4 times the sides.
ModelSpec densenet121(const Task& task);
ModelSpec googlenet(const Task& task);
ModelSpec squeezenet(const Task& task);
ModelSpec mobilenet_v2(const Task& task);
ModelSpec efficientnet_b0(const Task& task);

/// Encoder and decoder with four halvings and skips; ends with an image of `classes` channels.
ModelSpec unet(const Task& task, std::int64_t width);

/// UserError unless the input is CxHxW with both sides of at least `side` pixels.
void require_image(const Task& task, std::int64_t side);
/// The shorter side.
std::int64_t side_of(const tensor::Shape& image);

/// A square convolution with padding kernel / 2.
ops::Convolution convolution(std::int64_t out, std::int64_t kernel, std::int64_t stride, bool bias);
ops::Operation relu();
/// Of three times three pixels, every second one; the last window may reach beyond the image.
ops::Pool pool_3x3();
/// Appends the block; returns its index for the inputs of later ones.
int append(ModelSpec& model, BlockSpec block);
/// Global average pool, flatten, linear: the end of every ResNet, appended to `head`.
void append_classifier(BlockSpec& head, std::int64_t classes);

}  // namespace plait::graph::zoo
