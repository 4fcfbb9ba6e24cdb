// Random small networks of all kinds of shapes: valid and padded windows, odd sizes, strides,
// pools, depthwise convolutions, images that grow by padding, flat ones. The same ones in every
// run.
#pragma once

#include <string>

#include "base/rng.hpp"
#include "graph/shapes.hpp"
#include "graph/spec.hpp"

namespace plait::strategy {

class RandomModels {
 public:
  explicit RandomModels(std::uint64_t seed) : rng_(seed, Purpose::test, 77) {}

  /// The next one, with `classes` outputs.
  graph::ModelSpec next(std::int64_t classes = 10) {
    model_ = {.name = "random" + std::to_string(count_++), .input = {}, .blocks = {}};
    const bool flat = rng_.below(6) == 0;
    model_.input = flat ? tensor::Shape{4 + below(40)}
                        : tensor::Shape{1 + 2 * below(2), 5 + below(14), 5 + below(14)};
    shape_ = model_.input;
    const std::int64_t layers = 2 + below(4);
    for (std::int64_t i = 0; i < layers && shape_.rank() == 3; ++i) add_image_block();
    if (shape_.rank() == 3) {
      add("flatten", ops::Flatten{});
    }
    const std::int64_t linears = flat ? 2 + below(4) : below(3);
    for (std::int64_t i = 0; i < linears; ++i) {
      add("fc" + std::to_string(i), ops::Linear{.out_features = 3 + below(30)});
      then(ops::Activation{activation()});
    }
    add("head", ops::Linear{.out_features = classes});
    return model_;
  }

 private:
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(rng_.below(static_cast<std::uint32_t>(n)));
  }
  ops::ActivationKind activation() {
    return below(4) == 0 ? ops::ActivationKind::tanh : ops::ActivationKind::relu;
  }

  void add(const std::string& name, const ops::Operation& layer) {
    model_.blocks.push_back(graph::BlockSpec{.name = name, .nodes = {}});
    then(layer);
  }
  void then(const ops::Operation& layer) {
    graph::BlockSpec& block = model_.blocks.back();
    if (block.nodes.empty()) border_ = shape_;
    block.then("layer" + std::to_string(block.nodes.size()), layer);
    shape_ = node_shapes(block, border_).back();
  }

  void add_image_block() {
    const std::string name = "b" + std::to_string(model_.blocks.size());
    const std::int64_t least = std::min(shape_[1], shape_[2]);
    if (below(4) == 0 && least >= 2) {
      const std::int64_t kernel = 2 + (least >= 3 ? below(2) : 0);
      add(name, ops::Pool{.kind = below(2) == 0 ? ops::PoolKind::max : ops::PoolKind::average,
                          .kernel = {kernel, kernel},
                          .stride = {1 + below(3), 1 + below(3)}});
      return;
    }
    const std::int64_t kernel = 1 + below(std::min<std::int64_t>(least, 5));
    const bool depthwise = below(5) == 0;
    const std::int64_t channels = depthwise ? shape_[0] : 2 + below(10);
    add(name, ops::Convolution{.out_channels = channels,
                               .kernel = {kernel, kernel},
                               .stride = {1 + below(5) / 3, 1 + below(5) / 3},
                               .padding = {below(kernel), below(kernel)},
                               .groups = depthwise ? shape_[0] : 1,
                               .bias = below(2) == 0});
    if (below(3) == 0 && shape_[1] * shape_[2] > 1) then(ops::BatchNorm{});
    if (below(4) != 0) then(ops::Activation{activation()});
  }

  Rng rng_;
  int count_ = 0;
  graph::ModelSpec model_{};
  tensor::Shape shape_{};   ///< of what the last node makes
  tensor::Shape border_{};  ///< of what the last block reads
};

}  // namespace plait::strategy
