// How much memory a fast layer takes: its layouts with their padding, what forward keeps, scratch
// memory, parameters as they lie. A model of kernels/ for the planner, which links no kernels;
// tests/run/sizes_test compares it with the real ones.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph/spec.hpp"
#include "tensor/tensor.hpp"

namespace plait::graph {

/// What the graph around a layer must keep, and may do.
struct LayerTraits {
  bool data_reads_src = false;     ///< backward_data reads src
  bool data_reads_dst = false;     ///< backward_data reads dst
  bool weights_reads_src = false;  ///< backward_weights reads src; otherwise there is no such task
  bool adds_addend = false;        ///< backward_data honours diff_addend
  bool diff_in_place = false;      ///< diff_src may be diff_dst's memory
  bool forward_in_place = false;   ///< dst may be src's memory
  bool adds_in_place = false;      ///< dst may be the memory of the tensor that a residual adds
};

struct LayerSizes : LayerTraits {
  tensor::TensorDesc dst;
  std::int64_t saved_bytes = 0;    ///< the layer's own, from forward to its last backward
  std::int64_t scratch_bytes = 0;  ///< of the task that needs most
  std::int64_t weights = 0;        ///< floats, padding included
  std::int64_t state = 0;
};

/// How oneDNN's kernels want images on this machine: channels in blocks of 16 with AVX-512, of 8
/// without (or with the environment's ONEDNN_MAX_CPU_ISA below it).
tensor::Layout image_layout();

struct SizeOptions {
  int threads = 1;  ///< of a worker
  tensor::Layout images = image_layout();
  bool shares_weights = false;  ///< of the layer: others use them too, so they lie plain
};

/// Of a layer that reads `srcs`, which lie as source_layouts() says.
LayerSizes layer_sizes(const ops::Operation& layer, std::span<const tensor::TensorDesc> srcs,
                       const SizeOptions& options);

/// How the sources of a layer must lie for its kernel.
std::vector<tensor::Layout> source_layouts(const ops::Operation& layer,
                                           std::span<const tensor::TensorDesc> srcs);

/// Of the result, in the layout of the first source.
tensor::TensorDesc result_desc(const ops::Operation& layer,
                               std::span<const tensor::TensorDesc> srcs);

/// Of a change of layout.
LayerSizes conversion_sizes(const tensor::TensorDesc& src, tensor::Layout layout);

LayerSizes convolution_sizes(const ops::Convolution& spec, const tensor::TensorDesc& src,
                             const SizeOptions& options);

/// Floats as parameters lie one after another.
constexpr std::int64_t whole_lines(std::int64_t floats) { return (floats + 15) / 16 * 16; }

}  // namespace plait::graph
