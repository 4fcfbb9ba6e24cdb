// Builds the layer of a block, the conversions of layouts around it, and the list of its
// parameters.
#include <algorithm>

#include "graph/shapes.hpp"
#include "kernels/block.hpp"

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
  return {.traits = layer.traits(), .saved_bytes = layer.saved_bytes()};
}

std::size_t most_scratch(const Layer* layer) {
  std::size_t most = 0;
  for (const Pass pass : {Pass::forward, Pass::backward_data, Pass::backward_weights}) {
    if (layer != nullptr) most = std::max(most, layer->scratch_bytes(pass));
  }
  return most;
}

}  // namespace

Block::Block(const graph::BlockSpec& spec, std::vector<tensor::TensorDesc> srcs,
             const BlockOptions& options)
    : name_(spec.name), threads_(options.threads) {
  parts_.srcs = std::move(srcs);
  graph::node_shapes(spec, sample_shapes(parts_.srcs));  // refuses what does not fit, with names
  parts_.call = graph::call_of(spec, static_cast<int>(parts_.srcs.size()));
  parts_.wants_diff_srcs = options.wants_diff_srcs;
  parts_.wants_diff_srcs.resize(parts_.srcs.size(), true);
  for (std::size_t k = 0; k < parts_.srcs.size(); ++k) {  // integers have no gradient
    if (parts_.srcs[k].dtype != tensor::DType::f32) parts_.wants_diff_srcs[k] = false;
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
    parts_.layer_srcs.push_back(parts_.srcs[static_cast<std::size_t>(src)]);
  }
  if (options.backend != Backend::reference) {
    parts_.layer_srcs = graph::descs_to_read(call, parts_.srcs);
  }
  for (std::size_t k = 0; k < call.srcs.size(); ++k) {
    conversions_.push_back(
        parts_.converts(k) ? make_conversion(parts_.src(k), parts_.layer_srcs[k].layout, options)
                           : nullptr);
  }
  LayerRequest request{.spec = call.layer,
                       .srcs = parts_.layer_srcs,
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
  parts_.layer_dst = layer_->dst_desc();
  if (call.activation) {
    LayerRequest behind{.spec = *call.activation, .srcs = {parts_.layer_dst}};
    behind.threads = options.threads;
    activation_ = make_layer(behind, options.backend);
    parts_.activation = call_layer(*activation_);
  }
  if (options.dst_layout && parts_.layer_dst.layout != *options.dst_layout) {
    dst_conversion_ = make_conversion(parts_.layer_dst, *options.dst_layout, options);
  }
  parts_.dst = dst_conversion_ ? dst_conversion_->dst_desc() : parts_.layer_dst;
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
  parts_.layer.weights_bytes = static_cast<std::size_t>(weights_size_) * sizeof(float);
}

}  // namespace plait::kernels
