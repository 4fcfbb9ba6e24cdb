// The memory of each kind of layer, except convolutions (convolution_sizes.cpp).
#include "model/layer_sizes.hpp"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "base/rounding.hpp"
#include "model/parameters.hpp"
#include "model/shapes.hpp"

namespace plait::model {

namespace {

tensor::TensorDesc reshaped(const tensor::TensorDesc& src, const LayerSpec& layer) {
  const tensor::Shape sample = src.shape.without_front();
  return {.shape = layer_shape(layer, {&sample, 1}, "memory").with_front(src.shape[0]),
          .layout = src.layout};
}

LayerSizes plain_sizes(tensor::TensorDesc dst) {
  LayerSizes sizes;
  sizes.dst = std::move(dst);
  return sizes;
}

struct SizesOf {
  const LayerSpec& layer;
  const tensor::TensorDesc& src;
  const SizeOptions& options;

  /// oneDNN's products for AVX-512 pad the weights to whole blocks.
  std::int64_t linear_weights(std::int64_t out) const {
    const std::int64_t in = src.shape[1];
    if (options.images != tensor::Layout::blocked16) return out * in;
    const std::int64_t block = out >= 64 ? 64 : out > 16 ? 32 : 16;
    return round_up(out, block) * round_up(in, 16);
  }

  LayerSizes operator()(const ConvolutionSpec& spec) const {
    return convolution_sizes(spec, src, options);
  }
  LayerSizes operator()(const LinearSpec& spec) const {
    LayerSizes sizes = plain_sizes({.shape = {src.shape[0], spec.out_features}});
    sizes.weights_reads_src = true;
    sizes.weights = whole_lines(linear_weights(spec.out_features)) +
                    (spec.bias ? whole_lines(spec.out_features) : 0);
    if (options.images == tensor::Layout::blocked16) {  // a block of results for every thread
      sizes.scratch_bytes = std::int64_t{64 << 10} * options.threads;
    }
    return sizes;
  }
  LayerSizes operator()(const SparseLinearSpec& spec) const {
    LayerSizes sizes = plain_sizes(
        {.shape = {src.shape[0], spec.pattern->rows}, .layout = tensor::Layout::panels});
    sizes.weights_reads_src = true;
    return sizes;
  }
  LayerSizes operator()(const BatchNormSpec&) const {
    const std::int64_t block = tensor::channel_block(src.layout);
    const std::int64_t channels = round_up(src.shape[1], block);
    LayerSizes sizes = plain_sizes(src);
    sizes.data_reads_src = sizes.adds_addend = sizes.diff_in_place = true;
    sizes.saved_bytes = 2 * tensor::kFloatBytes * channels;
    sizes.scratch_bytes = channels * (16 * options.threads + 5 * tensor::kFloatBytes);
    return sizes;
  }
  LayerSizes operator()(const ActivationSpec& spec) const {
    LayerSizes sizes = plain_sizes(src);
    sizes.data_reads_src = spec.kind == ActivationKind::gelu || spec.kind == ActivationKind::silu;
    sizes.data_reads_dst = sizes.forward_in_place = !sizes.data_reads_src;
    sizes.diff_in_place = true;
    return sizes;
  }
  LayerSizes operator()(const PoolSpec& spec) const {
    LayerSizes sizes = plain_sizes(reshaped(src, layer));
    if (spec.kind == PoolKind::max) {  // where the largest was: a byte, or four
      const std::int64_t each =
          spec.kernel.height * spec.kernel.width > 256 ? tensor::kFloatBytes : 1;
      sizes.saved_bytes = each * sizes.dst.physical_elements();
    }
    return sizes;
  }
  LayerSizes operator()(const GlobalAveragePoolSpec&) const {
    return plain_sizes(reshaped(src, layer));
  }
  LayerSizes operator()(const DropoutSpec&) const {
    LayerSizes sizes = plain_sizes(src);
    sizes.diff_in_place = sizes.forward_in_place = true;
    sizes.saved_bytes = src.physical_elements();
    return sizes;
  }
  LayerSizes operator()(const FlattenSpec&) const {
    LayerSizes sizes = plain_sizes({.shape = {src.shape[0], src.shape.elements() / src.shape[0]}});
    sizes.diff_in_place = src.layout == tensor::Layout::plain;
    return sizes;
  }
  LayerSizes operator()(const AddSpec&) const { return plain_sizes(src); }
  LayerSizes operator()(const ConcatSpec&) const { return plain_sizes(src); }  // of the first
};

bool has_avx512() {
#if defined(__x86_64__)
  for (const char* name : {"ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA"}) {
    const char* most = std::getenv(name);
    if (most == nullptr) continue;
    const std::string_view isa = most;
    if (isa.starts_with("SSE") || isa == "AVX" || isa.starts_with("AVX2")) return false;
  }
  return __builtin_cpu_supports("avx512f") != 0;
#else
  return false;
#endif
}

}  // namespace

tensor::Layout image_layout() {
  static const tensor::Layout layout =
      has_avx512() ? tensor::Layout::blocked16 : tensor::Layout::blocked8;
  return layout;
}

tensor::Layout concat_layout(std::span<const tensor::TensorDesc> srcs) {
  const tensor::Layout first = srcs.front().layout;
  if (first == tensor::Layout::panels) return tensor::Layout::plain;
  const bool alike = std::ranges::all_of(srcs, [&](const tensor::TensorDesc& src) {
    return src.layout == first && src.shape[1] % tensor::channel_block(first) == 0;
  });
  return alike ? first : tensor::Layout::plain;
}

tensor::TensorDesc concat_desc(std::span<const tensor::TensorDesc> srcs) {
  tensor::TensorDesc dst = srcs.front();
  std::vector<std::int64_t> dims(dst.shape.dims().begin(), dst.shape.dims().end());
  for (const tensor::TensorDesc& src : srcs.subspan(1)) dims[1] += src.shape[1];
  dst.shape = tensor::Shape(std::move(dims));
  return dst;
}

LayerSizes conversion_sizes(const tensor::TensorDesc& src, tensor::Layout layout) {
  return plain_sizes({.shape = src.shape, .layout = layout});
}

LayerSizes layer_sizes(const LayerSpec& layer, const tensor::TensorDesc& src,
                       const SizeOptions& options) {
  LayerSizes sizes = std::visit(SizesOf{layer, src, options}, layer);
  if (sizes.weights > 0) return sizes;
  for (const ParameterSpec& parameter : layer_parameters(layer, src.shape.without_front())) {
    const std::int64_t floats = whole_lines(parameter.shape.elements());
    (parameter.trainable ? sizes.weights : sizes.state) += floats;
  }
  return sizes;
}

}  // namespace plait::model
