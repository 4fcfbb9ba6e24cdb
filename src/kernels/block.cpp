// Builds the layer of a block and the conversions around it, and plays the three tasks over the
// memory that graph/block_call has placed.
#include "kernels/block.hpp"

#include <algorithm>
#include <cstring>

#include "graph/shapes.hpp"
#include "kernels/gradient_gaps.hpp"
#include "kernels/simd/add.hpp"

namespace plait::kernels {

namespace {

std::vector<tensor::Shape> sample_shapes(const std::vector<tensor::TensorDesc>& descs) {
  std::vector<tensor::Shape> shapes;
  for (const tensor::TensorDesc& desc : descs) shapes.push_back(desc.shape.without_front());
  return shapes;
}

std::unique_ptr<Layer> make_conversion(const tensor::TensorDesc& src, tensor::Layout layout,
                                       const BlockOptions& options) {
  LayerRequest request{.spec = ops::Add{}, .srcs = {src}};
  request.convert_to = layout;
  request.threads = options.threads;
  return make_layer(request, Backend::onednn);
}

graph::CallLayer call_layer(const Layer& layer) {
  std::int64_t end = 0;
  for (const ParameterSlot& slot : layer.parameter_slots()) {
    if (slot.spec.trainable)
      end = std::max(end, graph::whole_lines(slot.offset + slot.physical_size));
  }
  return {.traits = layer.traits(),
          .saved_bytes = layer.saved_bytes(),
          .weights_bytes = static_cast<std::size_t>(end) * sizeof(float)};
}

std::size_t most_scratch(const Layer* layer) {
  std::size_t most = 0;
  for (const Pass pass : {Pass::forward, Pass::backward_data, Pass::backward_weights}) {
    if (layer != nullptr) most = std::max(most, layer->scratch_bytes(pass));
  }
  return most;
}

/// One layer without parameters: src -> dst.
LayerArgs plain_args(tensor::ConstView src, tensor::View dst) {
  LayerArgs args;
  args.src = {src};
  args.dst = dst;
  return args;
}

}  // namespace

Block::Block(const graph::BlockSpec& spec, std::vector<tensor::TensorDesc> srcs,
             const BlockOptions& options)
    : name_(spec.name), src_descs_(std::move(srcs)), threads_(options.threads) {
  graph::node_shapes(spec, sample_shapes(src_descs_));  // refuses what does not fit, with names
  parts_.call = graph::call_of(spec, static_cast<int>(src_descs_.size()));
  parts_.srcs = src_descs_;
  parts_.wants_diff_srcs = options.wants_diff_srcs;
  parts_.wants_diff_srcs.resize(src_descs_.size(), true);
  for (std::size_t k = 0; k < src_descs_.size(); ++k) {  // integers have no gradient
    if (src_descs_[k].dtype != tensor::DType::f32) parts_.wants_diff_srcs[k] = false;
  }
  build(options);
  place_parameters();
  memory_ = graph::place_call(parts_);
  traits_ = graph::traits_of(parts_);
  for (const auto& conversion : conversions_) {
    scratch_bytes_ = std::max(scratch_bytes_, most_scratch(conversion.get()));
  }
  for (const Layer* layer : {layer_.get(), activation_.get(), dst_conversion_.get()}) {
    scratch_bytes_ = std::max(scratch_bytes_, most_scratch(layer));
  }
  scratch_bytes_ += memory_.transient_bytes;
}

void Block::build(const BlockOptions& options) {
  const graph::BlockCall& call = parts_.call;
  for (const int src : call.srcs) {
    parts_.read.push_back(src_descs_[static_cast<std::size_t>(src)]);
  }
  if (options.backend != Backend::reference) {
    parts_.read = graph::descs_to_read(call, src_descs_);
  }
  for (std::size_t k = 0; k < call.srcs.size(); ++k) {
    conversions_.push_back(parts_.converts(k)
                               ? make_conversion(parts_.src(k), parts_.read[k].layout, options)
                               : nullptr);
  }
  LayerRequest request{.spec = call.layer,
                       .srcs = parts_.read,
                       .relu = call.relu,
                       .residual = call.residual,
                       .activation = call.activation,
                       .convert_to = {},
                       .shares_weights = options.shares_weights,
                       .threads = options.threads,
                       .name = name_ + "." + call.name,
                       .kernels = options.kernels};
  layer_ = make_layer(request, options.backend);
  parts_.layer = call_layer(*layer_);
  parts_.made = layer_->dst_desc();
  if (call.activation) {
    LayerRequest behind{.spec = *call.activation, .srcs = {parts_.made}};
    behind.threads = options.threads;
    activation_ = make_layer(behind, options.backend);
    parts_.activation = call_layer(*activation_);
  }
  if (options.dst_layout && parts_.made.layout != *options.dst_layout) {
    dst_conversion_ = make_conversion(parts_.made, *options.dst_layout, options);
  }
  dst_desc_ = dst_conversion_ ? dst_conversion_->dst_desc() : parts_.made;
  parts_.dst = dst_desc_;
}

void Block::place_parameters() {
  const std::string prefix = parts_.call.name.empty() ? "" : parts_.call.name + ".";
  const std::vector<ParameterSlot> slots = layer_->parameter_slots();
  for (std::size_t k = 0; k < slots.size(); ++k) {
    const ParameterSlot& slot = slots[k];
    parameters_.push_back({prefix + slot.spec.name, slot.spec, slot.offset, slot.physical_size, k});
    std::int64_t& end = slot.spec.trainable ? weights_size_ : state_size_;
    end = std::max(end, graph::whole_lines(slot.offset + slot.physical_size));
  }
}

bool Block::has_backward_data() const {
  for (std::size_t k = 0; k < parts_.call.srcs.size(); ++k) {
    if (parts_.wants(k)) return true;
  }
  return parts_.runs_data();
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
    layer.src.push_back(conversions_[k]
                            ? tensor::ConstView(at(memory_.read[k], args, parts_.read[k]))
                        : parts_.input(k) < args.srcs.size() ? args.srcs[parts_.input(k)]
                                                             : tensor::ConstView());
  }
  layer.dst = dst_conversion_ ? at(memory_.made, args, parts_.made) : args.dst;
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
    LayerArgs conversion =
        plain_args(args.srcs[parts_.input(k)], at(memory_.read[k], args, parts_.read[k]));
    conversion.scratch = scratch;
    conversions_[k]->forward(conversion);
  }
  layer_->forward(layer);
  if (!dst_conversion_) return;
  LayerArgs conversion = plain_args(layer.dst, args.dst);
  conversion.scratch = scratch;
  dst_conversion_->forward(conversion);
}

tensor::ConstView Block::diff_made(const BlockArgs& args) const {
  if (!dst_conversion_) return args.diff_dst;
  LayerArgs conversion;
  conversion.diff_dst = args.diff_dst;
  conversion.diff_srcs = {at(memory_.diff_made, args, parts_.made)};
  conversion.scratch = args.scratch + memory_.transient_bytes;
  dst_conversion_->backward_data(conversion);
  return conversion.diff_srcs.front();
}

tensor::ConstView Block::diff_layer(const BlockArgs& args) const {
  return activation_ ? tensor::ConstView(at(memory_.diff_linear, args, parts_.made))
                     : diff_made(args);
}

void Block::activation_backward(const BlockArgs& args) const {
  LayerArgs layer = layer_args(args);
  layer.src = {layer.dst};  // which has replaced it
  layer.saved = args.saved + memory_.activation_saved.offset;
  layer.diff_dst = diff_made(args);
  layer.diff_srcs = {at(memory_.diff_linear, args, parts_.made)};
  layer.diff_weights = nullptr;
  activation_->backward_data(layer);
}

bool Block::wants(std::size_t k, const BlockArgs& args) const {
  const std::size_t input = parts_.input(k);
  return parts_.wants(k) && input < args.diff_srcs.size() && !args.diff_srcs[input].empty();
}

tensor::View Block::diff_target(std::size_t k, const BlockArgs& args) const {
  if (!wants(k, args)) return {};
  if (conversions_[k]) return at(memory_.diff_read[k], args, parts_.read[k]);
  return parts_.again(k) ? at(memory_.diff_again[k], args, parts_.src(k))
                         : args.diff_srcs[parts_.input(k)];
}

void Block::return_diff(std::size_t k, const tensor::ConstView& diff_result,
                        const BlockArgs& args) const {
  if (!wants(k, args)) return;
  const tensor::View home = args.diff_srcs[parts_.input(k)];
  tensor::ConstView diff = parts_.passes(k) ? diff_result : diff_target(k, args);
  if (conversions_[k]) {
    LayerArgs conversion;
    conversion.diff_dst = diff;
    conversion.diff_srcs = {parts_.again(k) ? at(memory_.diff_again[k], args, parts_.src(k))
                                            : home};
    conversion.scratch = args.scratch + memory_.transient_bytes;
    conversions_[k]->backward_data(conversion);
    diff = conversion.diff_srcs.front();
  }
  if (diff.floats() == home.floats()) return;
  const std::size_t count = parts_.src(k).bytes() / sizeof(float);
  if (parts_.again(k)) {
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
    for (std::size_t k = 0; k < parts_.call.layer_srcs(); ++k) {
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
