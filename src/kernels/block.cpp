// Plays the three tasks over the memory that graph/block_call has placed.
#include "kernels/block.hpp"

#include <algorithm>
#include <cstring>

#include "kernels/gradient_gaps.hpp"
#include "kernels/simd/add.hpp"

namespace plait::kernels {

namespace {

/// One layer without parameters: src -> dst.
LayerArgs plain_args(tensor::ConstView src, tensor::View dst) {
  LayerArgs args;
  args.src = {src};
  args.dst = dst;
  return args;
}

}  // namespace

bool Block::has_backward_data() const {
  for (std::size_t k = 0; k < parts_.call.srcs.size(); ++k) {
    if (parts_.wants(k)) return true;
  }
  return parts_.runs_data() || (activation_ && weights_size_ > 0);
}

tensor::View Block::at(const graph::CallPlace& place, const BlockArgs& args,
                       const tensor::TensorDesc& desc) const {
  switch (place.region) {
    case graph::Region::saved: return {args.saved + place.offset, desc};
    case graph::Region::pending: return {args.pending + place.offset, desc};
    case graph::Region::scratch: return {args.scratch + place.offset, desc};
    case graph::Region::none: break;
  }
  return {};
}

LayerArgs Block::layer_args(const BlockArgs& args) const {
  LayerArgs layer;
  for (std::size_t k = 0; k < parts_.call.srcs.size(); ++k) {
    layer.src.push_back(
        conversions_[k] ? tensor::ConstView(at(memory_.layer_srcs[k], args, parts_.layer_srcs[k]))
        : parts_.input(k) < args.srcs.size() ? args.srcs[parts_.input(k)]
                                             : tensor::ConstView());
  }
  layer.dst = dst_conversion_ ? at(memory_.layer_dst, args, parts_.layer_dst) : args.dst;
  layer.weights = args.weights;
  layer.diff_weights = args.diff_weights;
  layer.state = args.state;
  layer.saved = args.saved + memory_.layer_saved.offset;
  layer.scratch = args.scratch + memory_.transient_bytes;
  layer.training = args.training;
  layer.randomness = args.randomness;
  return layer;
}

void Block::forward(const BlockArgs& args) {
  const LayerArgs layer = layer_args(args);
  std::byte* const scratch = layer.scratch;
  for (std::size_t k = 0; k < conversions_.size(); ++k) {
    if (!conversions_[k]) continue;
    LayerArgs conversion = plain_args(args.srcs[parts_.input(k)],
                                      at(memory_.layer_srcs[k], args, parts_.layer_srcs[k]));
    conversion.scratch = scratch;
    conversions_[k]->forward(conversion);
  }
  layer_->forward(layer);
  if (!dst_conversion_) return;
  LayerArgs conversion = plain_args(layer.dst, args.dst);
  conversion.scratch = scratch;
  dst_conversion_->forward(conversion);
}

tensor::ConstView Block::layer_diff_dst(const BlockArgs& args) const {
  if (!dst_conversion_) return args.diff_dst;
  LayerArgs conversion;
  conversion.diff_dst = args.diff_dst;
  conversion.diff_srcs = {at(memory_.layer_diff_dst, args, parts_.layer_dst)};
  conversion.scratch = args.scratch + memory_.transient_bytes;
  dst_conversion_->backward_data(conversion);
  return conversion.diff_srcs.front();
}

tensor::ConstView Block::diff_layer(const BlockArgs& args) const {
  return activation_ ? tensor::ConstView(at(memory_.linear_diff_dst, args, parts_.layer_dst))
                     : layer_diff_dst(args);
}

void Block::activation_backward(const BlockArgs& args) const {
  LayerArgs layer = layer_args(args);
  layer.src = {layer.dst};  // it was computed in place
  layer.saved = args.saved + memory_.activation_saved.offset;
  layer.diff_dst = layer_diff_dst(args);
  layer.diff_srcs = {at(memory_.linear_diff_dst, args, parts_.layer_dst)};
  layer.diff_weights = nullptr;
  activation_->backward_data(layer);
}

bool Block::wants(std::size_t k, const BlockArgs& args) const {
  const std::size_t input = parts_.input(k);
  return parts_.wants(k) && input < args.diff_srcs.size() && !args.diff_srcs[input].empty();
}

tensor::View Block::diff_target(std::size_t k, const BlockArgs& args) const {
  if (!wants(k, args)) return {};
  if (conversions_[k]) return at(memory_.layer_diff_srcs[k], args, parts_.layer_srcs[k]);
  return parts_.is_repeated(k) ? at(memory_.repeated_diffs[k], args, parts_.src(k))
                               : args.diff_srcs[parts_.input(k)];
}

void Block::return_diff(std::size_t k, const tensor::ConstView& diff_result,
                        const BlockArgs& args) const {
  if (!wants(k, args)) return;
  const tensor::View home = args.diff_srcs[parts_.input(k)];
  tensor::ConstView diff = parts_.passes_gradient(k) ? diff_result : diff_target(k, args);
  if (conversions_[k]) {
    LayerArgs conversion;
    conversion.diff_dst = diff;
    conversion.diff_srcs = {
        parts_.is_repeated(k) ? at(memory_.repeated_diffs[k], args, parts_.src(k)) : home};
    conversion.scratch = args.scratch + memory_.transient_bytes;
    conversions_[k]->backward_data(conversion);
    diff = conversion.diff_srcs.front();
  }
  if (diff.floats() == home.floats()) return;
  const std::size_t count = parts_.src(k).bytes() / sizeof(float);
  if (parts_.is_repeated(k)) {
    simd::add({home.floats(), home.floats(), diff.floats(), count}, threads_);
  } else {
    simd::copy(home.floats(), diff.floats(), count, threads_);
  }
}

void Block::backward_data(const BlockArgs& args) {
  if (!parts_.has_backward()) return;
  if (activation_) activation_backward(args);
  const tensor::ConstView diff = diff_layer(args);
  if (parts_.runs_data()) {
    LayerArgs layer = layer_args(args);
    layer.diff_dst = diff;
    for (std::size_t k = 0; k < parts_.call.own_srcs(); ++k) {
      layer.diff_srcs.push_back(diff_target(k, args));
    }
    layer.diff_addend = args.diff_addend;
    layer.diff_weights = nullptr;
    if (memory_.early_gradient.region != graph::Region::none) {
      std::byte* const early = args.pending + memory_.early_gradient.offset;
      std::memset(early, 0, parts_.layer.weights_bytes);  // the padding stays 0
      layer.diff_weights = reinterpret_cast<float*>(early);
    }
    layer_->backward_data(layer);
  }
  for (std::size_t k = 0; k < parts_.call.srcs.size(); ++k) return_diff(k, diff, args);
}

void Block::backward_weights(const BlockArgs& args) {
  if (memory_.early_gradient.region != graph::Region::none) {
    std::memcpy(args.diff_weights, args.pending + memory_.early_gradient.offset,
                parts_.layer.weights_bytes);
  }
  if (parts_.layer.traits.weights_reads_src) {
    LayerArgs layer = layer_args(args);
    layer.diff_dst = diff_layer(args);
    layer_->backward_weights(layer);
  }
  clear_gaps(*this, args.diff_weights);
}

void Block::pack_parameter(const BlockParameter& parameter, const float* plain,
                           float* physical) const {
  layer_->pack_parameter(parameter.index, plain, physical);
}

void Block::unpack_parameter(const BlockParameter& parameter, const float* physical,
                             float* plain) const {
  layer_->unpack_parameter(parameter.index, physical, plain);
}

}  // namespace plait::kernels
