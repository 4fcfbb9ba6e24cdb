// The memory of each kind of layer, except convolutions (convolution_sizes.cpp).
#include "graph/layer_sizes.hpp"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "base/rounding.hpp"
#include "graph/parameters.hpp"
#include "graph/shapes.hpp"

namespace plait::graph {

namespace {

std::int64_t bytes_of(const tensor::TensorDesc& desc) {
  return static_cast<std::int64_t>(desc.bytes());
}

LayerSizes plain_sizes(tensor::TensorDesc dst) {
  LayerSizes sizes;
  sizes.dst = std::move(dst);
  return sizes;
}

struct SizesOf {
  const ops::Operation& layer;
  std::span<const tensor::TensorDesc> srcs;
  const SizeOptions& options;
  const tensor::TensorDesc& src = srcs.front();

  /// oneDNN's products for AVX-512 pad the weights to whole blocks.
  std::int64_t linear_weights(std::int64_t out) const {
    const std::int64_t in = src.shape[src.shape.rank() - 1];
    if (options.images != tensor::Layout::blocked16 || options.shares_weights) return out * in;
    const std::int64_t block = out >= 64 ? 64 : out > 16 ? 32 : 16;
    return round_up(out, block) * round_up(in, 16);
  }

  LayerSizes operator()(const ops::Convolution& spec) const {
    return convolution_sizes(spec, src, options);
  }
  /// On the kernels of the convolution from dst to src.
  LayerSizes operator()(const ops::TransposedConvolution& spec) const {
    const tensor::TensorDesc dst = result_desc(layer, srcs);
    LayerSizes sizes = convolution_sizes(spec.transposed(src.shape[1]), dst, options);
    if (!(sizes.dst == src)) sizes.scratch_bytes += cache_lines(bytes_of(sizes.dst));
    if (spec.bias) sizes.weights += whole_lines(spec.out_channels);
    sizes.dst = dst;
    return sizes;
  }
  /// On images of one row.
  LayerSizes operator()(const ops::Convolution1d& spec) const {
    const tensor::Shape& shape = src.shape;
    LayerSizes sizes = convolution_sizes(
        spec.flat(), {.shape = {shape[0], shape[1], 1, shape[2]}, .layout = src.layout}, options);
    if (sizes.dst.layout != tensor::Layout::plain) {
      sizes.scratch_bytes += cache_lines(bytes_of(sizes.dst));
    }
    sizes.dst = result_desc(layer, srcs);
    return sizes;
  }
  LayerSizes operator()(const ops::Linear& spec) const {
    LayerSizes sizes = plain_sizes(result_desc(layer, srcs));
    sizes.weights_reads_src = true;
    sizes.weights = whole_lines(linear_weights(spec.out_features)) +
                    (spec.bias ? whole_lines(spec.out_features) : 0);
    if (options.images == tensor::Layout::blocked16) {  // a block of results for every thread
      sizes.scratch_bytes = std::int64_t{64 << 10} * options.threads;
    }
    return sizes;
  }
  LayerSizes operator()(const ops::SparseLinear& spec) const {
    LayerSizes sizes = plain_sizes(
        {.shape = {src.shape[0], spec.pattern->rows}, .layout = tensor::Layout::panels});
    sizes.weights_reads_src = sizes.adds_in_place = true;
    return sizes;
  }
  LayerSizes operator()(const ops::BatchNorm&) const {
    const std::int64_t block = tensor::channel_block(src.layout);
    const std::int64_t channels = round_up(src.shape[1], block);
    LayerSizes sizes = plain_sizes(src);
    sizes.data_reads_src = sizes.adds_addend = sizes.diff_in_place = true;
    sizes.saved_bytes = 2 * tensor::kFloatBytes * channels;
    sizes.scratch_bytes = channels * (16 * options.threads + 5 * tensor::kFloatBytes);
    return sizes;
  }
  LayerSizes operator()(const ops::Activation& spec) const {
    LayerSizes sizes = plain_sizes(src);
    sizes.data_reads_src = !ops::derivative_from_dst(spec.kind);
    sizes.data_reads_dst = sizes.forward_in_place = !sizes.data_reads_src;
    sizes.diff_in_place = true;
    return sizes;
  }
  LayerSizes operator()(const ops::Pool& spec) const {
    LayerSizes sizes = plain_sizes(result_desc(layer, srcs));
    if (spec.kind == ops::PoolKind::max) {  // where the largest was: a byte, or four
      const std::int64_t each =
          spec.kernel.height * spec.kernel.width > 256 ? tensor::kFloatBytes : 1;
      sizes.saved_bytes = each * sizes.dst.physical_elements();
    }
    return sizes;
  }
  LayerSizes operator()(const ops::Dropout&) const {
    LayerSizes sizes = plain_sizes(src);
    sizes.diff_in_place = sizes.forward_in_place = true;
    sizes.saved_bytes = src.physical_elements();
    return sizes;
  }
  LayerSizes operator()(const ops::Flatten&) const {
    LayerSizes sizes = plain_sizes({.shape = {src.shape[0], src.shape.elements() / src.shape[0]}});
    sizes.diff_in_place = src.layout == tensor::Layout::plain;
    return sizes;
  }
  template <class Other>
  LayerSizes operator()(const Other&) const {
    LayerSizes sizes = plain_sizes(result_desc(layer, srcs));
    const ops::PlainOnly reads = ops::plain_only(layer).value_or(ops::PlainOnly{});
    sizes.data_reads_src = reads.reads_src;
    sizes.data_reads_dst = reads.reads_dst;
    sizes.adds_addend = reads.adds_gradient;
    sizes.weights_reads_src =
        reads.weights_read_src && !ops::parameters_of(layer, src.shape.without_front()).empty();
    return sizes;
  }
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

tensor::TensorDesc result_desc(const ops::Operation& layer,
                               std::span<const tensor::TensorDesc> srcs) {
  std::vector<tensor::Shape> samples;
  for (const tensor::TensorDesc& src : srcs) samples.push_back(src.shape.without_front());
  return {.shape = ops::result_shape(layer, samples, "memory").with_front(srcs[0].shape[0]),
          .layout = srcs[0].layout};
}

std::vector<tensor::Layout> source_layouts(const ops::Operation& layer,
                                           std::span<const tensor::TensorDesc> srcs) {
  std::vector<tensor::Layout> layouts;
  for (const tensor::TensorDesc& src : srcs) layouts.push_back(src.layout);
  if (std::holds_alternative<ops::Activation>(layer)) return layouts;  // any will do
  const auto all = [&](tensor::Layout layout) {
    return std::vector<tensor::Layout>(srcs.size(), layout);
  };
  if (std::holds_alternative<ops::SparseLinear>(layer)) return all(tensor::Layout::panels);
  if (ops::plain_only(layer)) return all(tensor::Layout::plain);
  std::ranges::replace(layouts, tensor::Layout::panels, tensor::Layout::plain);
  if (const auto* conv = std::get_if<ops::Convolution>(&layer)) {
    // The direct kernels take channels in blocks; images of 1 and 3 channels they take as they are.
    const std::int64_t channels = srcs[0].shape[1];
    const bool depthwise = conv->groups == channels && conv->out_channels == channels;
    const bool direct = conv->groups == 1 ? channels > 3 : depthwise;
    if (direct && layouts[0] == tensor::Layout::plain) layouts[0] = image_layout();
  }
  if (std::holds_alternative<ops::Concat>(layer)) {  // whole blocks of channels, or plain
    const bool alike = std::ranges::all_of(srcs, [&](const tensor::TensorDesc& src) {
      return src.layout == layouts[0] && src.shape[1] % tensor::channel_block(src.layout) == 0;
    });
    return all(alike ? layouts[0] : tensor::Layout::plain);
  }
  if (ops::sum_of(layer) && layouts[0] != layouts[1]) {
    return all(layouts[0] == tensor::Layout::plain ? layouts[1] : layouts[0]);
  }
  return layouts;
}

LayerSizes conversion_sizes(const tensor::TensorDesc& src, tensor::Layout layout) {
  return plain_sizes({.shape = src.shape, .layout = layout});
}

LayerSizes layer_sizes(const ops::Operation& layer, std::span<const tensor::TensorDesc> srcs,
                       const SizeOptions& options) {
  const tensor::TensorDesc& src = srcs.front();
  LayerSizes sizes = std::visit(SizesOf{layer, srcs, options}, layer);
  if (sizes.weights > 0) return sizes;
  for (const ops::ParameterSpec& parameter : ops::parameters_of(layer, src.shape.without_front())) {
    const std::int64_t floats = whole_lines(parameter.shape.elements());
    (parameter.trainable ? sizes.weights : sizes.state) += floats;
  }
  return sizes;
}

}  // namespace plait::graph
