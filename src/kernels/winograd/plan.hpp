// How a task is cut into pieces that fit the caches, and where its scratch memory goes. A plan is a
// function of shape, tiling and threads only, and does not depend on how fast anything runs.
#pragma once

#include <cstddef>

#include "base/rounding.hpp"
#include "kernels/pass.hpp"
#include "kernels/winograd/tiling.hpp"

namespace plait::kernels::winograd {

struct ConvolutionShape {
  int batch;
  int in_channels;
  int out_channels;
  int height;  // of src
  int width;
  int kernel = 3;   // kernel x kernel
  int padding = 1;  // on all four sides

  constexpr int dst_height() const { return height + 2 * padding - kernel + 1; }
  constexpr int dst_width() const { return width + 2 * padding - kernel + 1; }
};

// A part of the scratch memory: buffers of `stride` floats, one after the other.
struct Region {
  std::ptrdiff_t offset = 0;
  std::ptrdiff_t stride = 0;

  float* at(void* scratch, int index = 0) const {
    return static_cast<float*>(scratch) + offset + index * stride;
  }
};

// forward, and backward_data with the channels swapped: `in` is what is read, `out` what is
// written.
struct DataPlan {
  enum class Order {
    // All weights are transformed first; then threads take parts of the tiles, chunk by chunk, with
    // all channels.
    tile_parts,
    // For one chunk of tiles after the other: all threads transform it, then take groups of out
    // channels, for each of which they transform the weights again. For many channels, where the
    // transformed weights would not fit the caches, or for few tiles.
    channel_groups,
  };

  Tiling tiling;
  Method method;
  Grid grid;
  int threads;
  int in_blocks;
  int out_blocks;
  Order order;
  int part;    // tiles; whole images with Method::adjoint, all tiles with channel_groups
  int chunk;   // tiles; a part is cut into chunks
  int group;   // out blocks; all of them with tile_parts
  int slices;  // into which a chunk is cut to be transformed by all threads (channel_groups)
  PlaneStrides in_strides;
  PlaneStrides out_strides;
  std::ptrdiff_t panel_plane;
  Region in_planes;   // per thread, or shared with channel_groups
  Region out_planes;  // per thread
  Region panels;      // shared, or per thread with channel_groups
  std::size_t scratch_bytes;

  int parts() const { return divide_up(grid.tiles(), part); }
  int chunks() const { return divide_up(part, chunk); }  // of a part
  int groups() const { return divide_up(out_blocks, group); }
};

// backward_weights.
struct WeightsPlan {
  enum class Order {
    // The tiles are cut into one part per thread, and each part adds its products to panels of its
    // own, chunk by chunk; diff_weights is made from the sum of the parts' panels.
    own_tiles,
    // For one chunk of tiles after the other: all threads transform it, then take positions and add
    // products to the shared panels. For many channels and many tiles.
    shared_chunks,
    // All threads transform all tiles, then take groups of channels and make their diff_weights at
    // once. For many channels and few tiles.
    channel_groups,
  };

  Tiling tiling;
  Grid grid;
  int threads;
  int in_blocks;
  int out_blocks;
  Order order;
  int parts;      // 1 unless own_tiles
  int part;       // tiles
  int chunk;      // tiles; a part is cut into chunks
  int in_group;   // in blocks per piece of work of the products
  int out_group;  // out blocks
  int slices;     // into which a chunk is cut to be transformed by all threads; 1 with own_tiles
  PlaneStrides in_strides;
  PlaneStrides out_strides;
  std::ptrdiff_t panel_plane;
  Region in_planes;   // per part
  Region out_planes;  // per part
  Region panels;      // per part, or per thread with channel_groups
  Region bias_sums;   // per part and slice
  std::size_t scratch_bytes;

  int chunks() const { return divide_up(part, chunk); }  // of a part
  int in_groups() const { return divide_up(in_blocks, in_group); }
  int out_groups() const { return divide_up(out_blocks, out_group); }
};

Tiling choose_tiling(const ConvolutionShape& shape);
DataPlan plan_forward(const ConvolutionShape& shape, Tiling tiling, int threads);
DataPlan plan_backward_data(const ConvolutionShape& shape, Tiling tiling, int threads);
WeightsPlan plan_backward_weights(const ConvolutionShape& shape, Tiling tiling, int threads);

}  // namespace plait::kernels::winograd
