// Builds the layers of a block, inserts layout conversions where readers disagree, and plays the
// three tasks over the memory that block_graph placed.
#include "layers/block.hpp"

#include <algorithm>
#include <cstring>

#include "layers/gradient_gaps.hpp"
#include "layers/simd/add.hpp"
#include "model/layer_sizes.hpp"
#include "model/shapes.hpp"

namespace plait::layers {

namespace {

/// The pointer a place stands for in one call.
struct Resolve {
  explicit Resolve(const BlockArgs& given) : args(given) {}
  const BlockArgs& args;

  float* operator()(const Place& place) const {
    switch (place.where) {
      case Where::none: return nullptr;
      case Where::block_src:
        return const_cast<float*>(at(args.srcs, place));  // read only, by graph
      case Where::block_dst: return args.dst;
      case Where::block_diff_dst: return const_cast<float*>(args.diff_dst);  // read only, by graph
      case Where::block_diff_src: return at(args.diff_srcs, place);
      case Where::saved: return reinterpret_cast<float*>(args.saved + place.offset);
      case Where::pending: return reinterpret_cast<float*>(args.pending + place.offset);
      case Where::scratch: return reinterpret_cast<float*>(args.scratch + place.offset);
    }
    return nullptr;
  }

 private:
  template <class Pointer>
  static Pointer at(const std::vector<Pointer>& pointers, const Place& place) {
    const auto input = static_cast<std::size_t>(place.input);
    return input < pointers.size() ? pointers[input] : nullptr;
  }
};

std::vector<tensor::Shape> sample_shapes(const std::vector<tensor::TensorDesc>& descs) {
  std::vector<tensor::Shape> shapes;
  for (const tensor::TensorDesc& desc : descs) shapes.push_back(desc.shape.without_front());
  return shapes;
}

}  // namespace

Block::Block(const model::BlockSpec& spec, std::vector<tensor::TensorDesc> srcs,
             const BlockOptions& options)
    : name_(spec.name),
      src_descs_(std::move(srcs)),
      threads_(options.threads),
      steps_(fuse(spec, static_cast<int>(src_descs_.size()))) {
  model::node_shapes(spec, sample_shapes(src_descs_));  // refuses what does not fit, with names
  std::vector<tensor::TensorDesc> descs = src_descs_;
  descs.resize(src_descs_.size() + spec.nodes.size());
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    if (!steps_[i].convert_to && options.backend != Backend::reference) match_layouts(i, descs);
    const GraphStep& step = steps_[i];
    LayerRequest request{.spec = step.spec,
                         .srcs = {},
                         .relu = step.relu,
                         .residual = step.residual,
                         .activation = step.activation,
                         .convert_to = step.convert_to,
                         .threads = options.threads,
                         .name = name_ + "." + step.name,
                         .kernels = options.kernels};
    for (int tensor : step.srcs) request.srcs.push_back(descs[static_cast<std::size_t>(tensor)]);
    layers_.push_back(make_layer(request, options.backend));
    descs[static_cast<std::size_t>(step.dst)] = layers_.back()->dst_desc();
    const bool last = i + 1 == steps_.size();
    if (last && options.dst_layout && layers_.back()->dst_desc().layout != *options.dst_layout) {
      steps_.push_back({.name = step.name + ".layout",
                        .spec = ops::Add{},
                        .srcs = {step.dst},
                        .dst = static_cast<int>(descs.size()),
                        .convert_to = options.dst_layout});
      descs.emplace_back();
    }
  }
  dst_desc_ = descs[static_cast<std::size_t>(steps_.back().dst)];
  std::vector<bool> wanted = options.wants_diff_srcs;
  if (wanted.empty()) wanted.assign(src_descs_.size(), true);
  memory_ = place_memory(steps_, layers_, descs, wanted);
  pending_bytes_ = memory_.pending_bytes;

  for (std::size_t i = 0; i < layers_.size(); ++i) {
    weights_offset_.push_back(weights_size_);
    state_offset_.push_back(state_size_);
    const std::vector<ParameterSlot> slots = layers_[i]->parameter_slots();
    for (std::size_t k = 0; k < slots.size(); ++k) {
      const ParameterSlot& slot = slots[k];
      const std::int64_t base = slot.spec.trainable ? weights_offset_[i] : state_offset_[i];
      const std::string prefix = steps_[i].name.empty() ? "" : steps_[i].name + ".";
      parameters_.push_back(
          {prefix + slot.spec.name, slot.spec, base + slot.offset, slot.physical_size, i, k});
      std::int64_t& end = slot.spec.trainable ? weights_size_ : state_size_;
      end = std::max(end, base + (slot.offset + slot.physical_size + 15) / 16 * 16);
    }
    const bool early = memory_.steps[i].run_data && !memory_.steps[i].run_weights;
    const auto bytes = static_cast<std::size_t>(weights_size_ - weights_offset_[i]) * sizeof(float);
    early_.push_back({pending_bytes_, early ? bytes : 0});
    pending_bytes_ += (early_.back().bytes + 63) / 64 * 64;
    for (Pass pass : {Pass::forward, Pass::backward_data, Pass::backward_weights}) {
      scratch_bytes_ = std::max(scratch_bytes_, layers_[i]->scratch_bytes(pass));
    }
    has_backward_data_ =
        has_backward_data_ || memory_.steps[i].run_data || !memory_.steps[i].sums.empty();
    has_backward_weights_ =
        has_backward_weights_ || memory_.steps[i].run_weights || early_[i].bytes > 0;
  }
  scratch_bytes_ += memory_.transient_bytes;
}

void Block::match_layouts(std::size_t i, std::vector<tensor::TensorDesc>& descs) {
  std::vector<tensor::TensorDesc> srcs;
  for (const int src : steps_[i].srcs) srcs.push_back(descs[static_cast<std::size_t>(src)]);
  const std::vector<tensor::Layout> wanted = model::source_layouts(steps_[i].spec, srcs);
  for (std::size_t k = 0; k < srcs.size(); ++k) {
    if (srcs[k].layout != wanted[k]) return convert(i, k, wanted[k], descs);
  }
}

void Block::convert(std::size_t i, std::size_t source, tensor::Layout layout,
                    std::vector<tensor::TensorDesc>& descs) {
  const int converted = static_cast<int>(descs.size());
  GraphStep step{.name = steps_[i].name + ".layout",
                 .spec = ops::Add{},
                 .srcs = {steps_[i].srcs[source]},
                 .dst = converted,
                 .convert_to = layout};
  descs.emplace_back();
  steps_[i].srcs[source] = converted;
  steps_.insert(steps_.begin() + static_cast<std::ptrdiff_t>(i), std::move(step));
}

LayerArgs Block::layer_args(std::size_t i, const BlockArgs& args) const {
  const Resolve at{args};
  LayerArgs layer;
  for (const int src : steps_[i].srcs) {
    layer.src.push_back(at(memory_.tensors[static_cast<std::size_t>(src)]));
  }
  layer.dst = at(memory_.tensors[static_cast<std::size_t>(steps_[i].dst)]);
  layer.weights = args.weights == nullptr ? nullptr : args.weights + weights_offset_[i];
  layer.diff_weights =
      args.diff_weights == nullptr ? nullptr : args.diff_weights + weights_offset_[i];
  layer.state = args.state == nullptr ? nullptr : args.state + state_offset_[i];
  layer.saved = args.saved + memory_.layer_saved[i].offset;
  layer.scratch = args.scratch + memory_.transient_bytes;
  layer.training = args.training;
  layer.randomness = args.randomness;
  return layer;
}

bool Block::layout_follows_batch() const {
  return std::ranges::any_of(parameters_, [&](const BlockParameter& parameter) {
    return layers_[parameter.step]->layout_follows_batch();
  });
}

void Block::forward(const BlockArgs& args) {
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    if (!steps_[i].forward_done) layers_[i]->forward(layer_args(i, args));
  }
}

void Block::layer_backward_data(std::size_t i, const BlockArgs& args) const {
  const BackwardStep& step = memory_.steps[i];
  const Resolve at{args};
  LayerArgs layer = layer_args(i, args);
  layer.diff_dst = at(step.diff_dst);
  for (const Place& place : step.diff_srcs) layer.diff_srcs.push_back(at(place));
  layer.diff_addend = memory_.traits.adds_gradient ? args.diff_addend : at(step.addend);
  layer.diff_weights = nullptr;
  if (early_[i].bytes > 0) {
    std::memset(args.pending + early_[i].offset, 0, early_[i].bytes);  // the padding stays 0
    layer.diff_weights = reinterpret_cast<float*>(args.pending + early_[i].offset);
  }
  layers_[i]->backward_data(layer);
}

void Block::backward_data(const BlockArgs& args) {
  const Resolve at{args};
  for (std::size_t i = layers_.size(); i-- > 0;) {
    const BackwardStep& step = memory_.steps[i];
    if (step.run_data) layer_backward_data(i, args);
    for (const GradientSum& sum : step.sums) {
      float* result = at(sum.result);
      if (sum.b.where != Where::none) {
        simd::add({result, at(sum.a), at(sum.b), sum.bytes / sizeof(float)}, threads_);
      } else if (result != nullptr && result != at(sum.a)) {
        simd::copy(result, at(sum.a), sum.bytes / sizeof(float), threads_);
      }
    }
  }
}

void Block::backward_weights(const BlockArgs& args) {
  const Resolve at{args};
  if (memory_.converts_gradient) layer_backward_data(layers_.size() - 1, args);
  for (std::size_t i = layers_.size(); i-- > 0;) {
    if (early_[i].bytes > 0) {
      std::memcpy(args.diff_weights + weights_offset_[i], args.pending + early_[i].offset,
                  early_[i].bytes);
    }
    if (!memory_.steps[i].run_weights) continue;
    LayerArgs layer = layer_args(i, args);
    layer.diff_dst = at(memory_.steps[i].diff_dst);
    layers_[i]->backward_weights(layer);
  }
  clear_gaps(*this, args.diff_weights);
}

void Block::pack_parameter(const BlockParameter& parameter, const float* plain,
                           float* physical) const {
  layers_[parameter.step]->pack_parameter(parameter.index, plain, physical);
}

void Block::unpack_parameter(const BlockParameter& parameter, const float* physical,
                             float* plain) const {
  layers_[parameter.step]->unpack_parameter(parameter.index, physical, plain);
}

}  // namespace plait::layers
