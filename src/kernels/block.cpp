// Builds the layers of a block, inserts layout conversions where readers disagree, and plays the
// three tasks over the memory that block_graph placed.
#include "kernels/block.hpp"

#include <algorithm>
#include <cstring>

#include "graph/layer_sizes.hpp"
#include "graph/shapes.hpp"
#include "kernels/gradient_gaps.hpp"
#include "kernels/simd/add.hpp"

namespace plait::kernels {

namespace {

/// The memory a place stands for in one call. What the block is handed keeps its own desc.
struct Resolve {
  explicit Resolve(const BlockArgs& given) : args(given) {}
  const BlockArgs& args;

  tensor::View write(const Place& place, const tensor::TensorDesc& desc) const {
    switch (place.where) {
      case Where::block_dst: return args.dst;
      case Where::block_diff_src: return at(args.diff_srcs, place);
      case Where::saved: return {args.saved + place.offset, desc};
      case Where::pending: return {args.pending + place.offset, desc};
      case Where::scratch: return {args.scratch + place.offset, desc};
      case Where::none:
      case Where::block_src:
      case Where::block_diff_dst: break;  // read only, by graph
    }
    return {};
  }
  tensor::ConstView read(const Place& place, const tensor::TensorDesc& desc) const {
    if (place.where == Where::block_src) return at(args.srcs, place);
    if (place.where == Where::block_diff_dst) return args.diff_dst;
    return write(place, desc);
  }

 private:
  template <class V>
  static V at(const std::vector<V>& views, const Place& place) {
    const auto input = static_cast<std::size_t>(place.input);
    return input < views.size() ? views[input] : V();
  }
};

std::vector<tensor::Shape> sample_shapes(const std::vector<tensor::TensorDesc>& descs) {
  std::vector<tensor::Shape> shapes;
  for (const tensor::TensorDesc& desc : descs) shapes.push_back(desc.shape.without_front());
  return shapes;
}

}  // namespace

Block::Block(const graph::BlockSpec& spec, std::vector<tensor::TensorDesc> srcs,
             const BlockOptions& options)
    : name_(spec.name),
      src_descs_(std::move(srcs)),
      threads_(options.threads),
      steps_(fuse(spec, static_cast<int>(src_descs_.size()))) {
  graph::node_shapes(spec, sample_shapes(src_descs_));  // refuses what does not fit, with names
  descs_ = src_descs_;
  descs_.resize(src_descs_.size() + spec.nodes.size());
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    if (!steps_[i].convert_to && options.backend != Backend::reference) match_layouts(i);
    const GraphStep& step = steps_[i];
    LayerRequest request{.spec = step.spec,
                         .srcs = {},
                         .relu = step.relu,
                         .residual = step.residual,
                         .activation = step.activation,
                         .convert_to = step.convert_to,
                         .shares_weights = options.shares_weights,
                         .threads = options.threads,
                         .name = name_ + "." + step.name,
                         .kernels = options.kernels};
    for (int tensor : step.srcs) request.srcs.push_back(descs_[static_cast<std::size_t>(tensor)]);
    layers_.push_back(make_layer(request, options.backend));
    descs_[static_cast<std::size_t>(step.dst)] = layers_.back()->dst_desc();
    const bool last = i + 1 == steps_.size();
    if (last && options.dst_layout && layers_.back()->dst_desc().layout != *options.dst_layout) {
      steps_.push_back({.name = step.name + ".layout",
                        .spec = ops::Add{},
                        .srcs = {step.dst},
                        .dst = static_cast<int>(descs_.size()),
                        .convert_to = options.dst_layout});
      descs_.emplace_back();
    }
  }
  dst_desc_ = descs_[static_cast<std::size_t>(steps_.back().dst)];
  std::vector<bool> wanted = options.wants_diff_srcs;
  wanted.resize(src_descs_.size(), true);
  for (std::size_t k = 0; k < wanted.size(); ++k) {  // integers have no gradient
    wanted[k] = wanted[k] && src_descs_[k].dtype == tensor::DType::f32;
  }
  memory_ = place_memory(steps_, layers_, descs_, wanted);
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

void Block::match_layouts(std::size_t i) {
  std::vector<tensor::TensorDesc> srcs;
  for (const int src : steps_[i].srcs) srcs.push_back(descs_[static_cast<std::size_t>(src)]);
  const std::vector<tensor::Layout> wanted = graph::source_layouts(steps_[i].spec, srcs);
  for (std::size_t k = 0; k < srcs.size(); ++k) {
    if (srcs[k].layout != wanted[k]) return convert(i, k, wanted[k]);
  }
}

void Block::convert(std::size_t i, std::size_t source, tensor::Layout layout) {
  const int converted = static_cast<int>(descs_.size());
  GraphStep step{.name = steps_[i].name + ".layout",
                 .spec = ops::Add{},
                 .srcs = {steps_[i].srcs[source]},
                 .dst = converted,
                 .convert_to = layout};
  descs_.emplace_back();
  steps_[i].srcs[source] = converted;
  steps_.insert(steps_.begin() + static_cast<std::ptrdiff_t>(i), std::move(step));
}

LayerArgs Block::layer_args(std::size_t i, const BlockArgs& args) const {
  const Resolve at{args};
  LayerArgs layer;
  layer.src.reserve(steps_[i].srcs.size());
  for (const int src : steps_[i].srcs) {
    layer.src.push_back(at.read(memory_.tensors[static_cast<std::size_t>(src)], desc_of(src)));
  }
  const int dst = steps_[i].dst;
  layer.dst = at.write(memory_.tensors[static_cast<std::size_t>(dst)], desc_of(dst));
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
  layer.diff_dst = at.read(step.diff_dst, desc_of(steps_[i].dst));
  layer.diff_srcs.reserve(step.diff_srcs.size());
  for (std::size_t k = 0; k < step.diff_srcs.size(); ++k) {
    layer.diff_srcs.push_back(at.write(step.diff_srcs[k], desc_of(steps_[i].srcs[k])));
  }
  layer.diff_addend = memory_.traits.adds_gradient
                          ? args.diff_addend
                          : at.read(step.addend, desc_of(steps_[i].srcs[0]));
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
      const tensor::TensorDesc& desc = desc_of(sum.tensor);
      const std::size_t count = desc.bytes() / sizeof(float);
      float* result = at.write(sum.result, desc).floats();
      const float* a = at.read(sum.a, desc).floats();
      if (sum.b.where != Where::none) {
        simd::add({result, a, at.read(sum.b, desc).floats(), count}, threads_);
      } else if (result != nullptr && result != a) {
        simd::copy(result, a, count, threads_);
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
    layer.diff_dst = at.read(memory_.steps[i].diff_dst, desc_of(steps_[i].dst));
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

}  // namespace plait::kernels
