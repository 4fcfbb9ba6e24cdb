// The choice of blocking. The constants are for cores with about 512 KiB of L2 cache of their own
// and a few MiB each of a shared L3 cache; on Zen 3, halving or doubling them made no
// difference that could be told from noise.
#include "kernels/winograd/plan.hpp"

#include <algorithm>

#include "base/rounding.hpp"

namespace plait::kernels::winograd {
namespace {

constexpr std::ptrdiff_t kMiB = 1 << 20;

// Transformed weights up to this size are kept whole by forward and backward_data.
constexpr std::ptrdiff_t kWholePanels = 4 * kMiB;
// Panels up to this size are kept once per thread by backward_weights.
constexpr std::ptrdiff_t kOwnPanels = 3 * kMiB;
// Transformed tiles of a chunk of one thread, and of one that all threads share.
constexpr std::ptrdiff_t kOwnChunk = 1 * kMiB;
constexpr std::ptrdiff_t kSharedChunk = 8 * kMiB;
// Tiles in a chunk regardless of the above: fewer would reuse weights, or in backward_weights
// accumulators, too little.
constexpr std::ptrdiff_t kLeastRows = 24;
constexpr std::ptrdiff_t kLeastOwnTerms = 48;
constexpr std::ptrdiff_t kLeastSharedTerms = 96;

// Parts of whole images, for balance.
constexpr int kPartsPerThread = 4;

constexpr int kRowStep = 6;  // tiles that multiply() takes at once

// Appends regions to the scratch memory.
class Layout {
 public:
  Region add(std::ptrdiff_t floats, int count) {
    const std::ptrdiff_t stride = odd_lines(floats);
    const Region region{floats_, stride};
    floats_ += stride * count;
    return region;
  }
  std::size_t bytes() const { return static_cast<std::size_t>(floats_) * sizeof(float); }

 private:
  std::ptrdiff_t floats_ = 0;
};

// The length of chunks: about equal ones of at most `most` tiles, in a number that `parts` divides
// if there are enough tiles; a multiple of kRowStep.
int chunk_tiles(int tiles, std::ptrdiff_t most, int parts) {
  const int limit = static_cast<int>(std::clamp<std::ptrdiff_t>(most, kRowStep, 1 << 20));
  const int chunks = round_up(divide_up(tiles, limit), parts);
  return round_up(divide_up(tiles, chunks), kRowStep);
}

// Pieces into which the tiles of a chunk are cut so that, times `blocks`, there is work for all.
int slice_count(int chunk, int blocks, int threads) {
  const int wanted = divide_up(4 * threads, blocks);
  return std::clamp(wanted, 1, std::max(1, chunk / 16));
}

struct DataTask {
  Tiling tiling;
  Method method;
  Grid grid;
  int in_channels;
  int out_channels;
};

bool by_groups(Tiling tiling, int in_channels, int out_channels, int threads) {
  const std::ptrdiff_t count = positions(tiling);
  return count * in_channels * out_channels * 4 > kWholePanels && out_channels >= 32 * threads;
}

// Parts and chunks of tile_parts.
void cut_tiles(DataPlan& p, std::ptrdiff_t most) {
  const int tiles = p.grid.tiles();
  if (p.method == Method::adjoint) {
    const int images = divide_up(p.grid.batch, kPartsPerThread * p.threads);
    p.part = images * p.grid.image_tiles();
    p.chunk = chunk_tiles(p.part, most, 1);
  } else {
    p.chunk = chunk_tiles(tiles, most, p.threads);
    p.part = p.chunk;
  }
}

DataPlan plan_data(const DataTask& task, int threads) {
  DataPlan p{};
  p.tiling = task.tiling;
  p.method = task.method;
  p.grid = task.grid;
  p.threads = threads;
  p.in_blocks = task.in_channels / 8;
  p.out_blocks = task.out_channels / 8;
  const std::ptrdiff_t count = positions(p.tiling);
  const bool by_group = by_groups(p.tiling, task.in_channels, task.out_channels, threads);
  p.order = by_group ? DataPlan::Order::channel_groups : DataPlan::Order::tile_parts;
  Layout layout;
  if (by_group) {
    p.group = 2;
    p.part = p.grid.tiles();
    p.chunk = chunk_tiles(p.part, kSharedChunk / (count * task.in_channels * 4), 1);
    p.slices = slice_count(p.chunk, p.in_blocks, threads);
  } else {
    p.group = p.out_blocks;
    const std::ptrdiff_t tile_bytes = count * (task.in_channels + task.out_channels) * 4;
    cut_tiles(p, std::max(kOwnChunk / tile_bytes, kLeastRows));
    p.slices = 1;
  }
  p.panel_plane = odd_lines(std::ptrdiff_t{8} * task.in_channels * p.group);
  p.in_strides = plane_strides(p.in_blocks, p.chunk);
  p.out_strides = plane_strides(p.group, p.chunk);
  p.in_planes = layout.add(count * p.in_strides.plane, by_group ? 1 : threads);
  p.out_planes = layout.add(count * p.out_strides.plane, threads);
  p.panels = layout.add(count * p.panel_plane, by_group ? threads : 1);
  p.scratch_bytes = layout.bytes();
  return p;
}

Grid forward_grid(const ConvolutionShape& shape, Tiling tiling) {
  return make_grid(tiling, shape.batch, {shape.height, shape.width}, shape.padding);
}

}  // namespace

Tiling choose_tiling(const ConvolutionShape& shape) {
  if (shape.kernel == 5) {
    const auto products = [&](Tiling tiling) {
      return forward_grid(shape, tiling).tiles() * positions(tiling);
    };
    return products(Tiling::f2_5x5) < products(Tiling::f4_5x5) ? Tiling::f2_5x5 : Tiling::f4_5x5;
  }
  const bool tiny = shape.padding == 1 && shape.height <= 2 && shape.width <= 2;
  return tiny ? Tiling::image2x2 : Tiling::f4;
}

DataPlan plan_forward(const ConvolutionShape& shape, Tiling tiling, int threads) {
  const Grid grid = forward_grid(shape, tiling);
  return plan_data({tiling, Method::forward, grid, shape.in_channels, shape.out_channels}, threads);
}

DataPlan plan_backward_data(const ConvolutionShape& shape, Tiling tiling, int threads) {
  const int in = shape.out_channels, out = shape.in_channels;
  // The tiles of one image cannot be shared between threads when results are added up.
  const bool threads_fit = shape.batch >= threads || by_groups(tiling, in, out, threads);
  if (shape.kernel == 5 && threads_fit) {
    return plan_data({tiling, Method::adjoint, forward_grid(shape, tiling), in, out}, threads);
  }
  const Grid grid = make_grid(tiling, shape.batch, {shape.dst_height(), shape.dst_width()},
                              shape.kernel - 1 - shape.padding);
  return plan_data({tiling, Method::turned, grid, in, out}, threads);
}

WeightsPlan plan_backward_weights(const ConvolutionShape& shape, Tiling tiling, int threads) {
  WeightsPlan p{};
  p.tiling = tiling;
  p.grid = forward_grid(shape, tiling);
  p.threads = threads;
  p.in_blocks = shape.in_channels / 8;
  p.out_blocks = shape.out_channels / 8;
  const std::ptrdiff_t count = positions(tiling);
  const std::ptrdiff_t tile_bytes = count * (shape.in_channels + shape.out_channels) * 4;
  const std::ptrdiff_t panel_bytes = count * shape.in_channels * shape.out_channels * 4;
  const int tiles = p.grid.tiles();
  p.parts = 1;
  p.part = tiles;
  p.in_group = p.in_blocks;
  p.out_group = p.out_blocks;
  p.slices = 1;
  if (panel_bytes <= kOwnPanels) {
    p.order = WeightsPlan::Order::own_tiles;
    p.part = divide_up(tiles, threads);
    p.parts = divide_up(tiles, p.part);
    const std::ptrdiff_t most = std::max(kOwnChunk / tile_bytes, kLeastOwnTerms);
    p.chunk = chunk_tiles(p.part, most, 1);
  } else {
    const std::ptrdiff_t most = std::max(kSharedChunk / tile_bytes, kLeastSharedTerms);
    p.chunk = chunk_tiles(tiles, most, 1);
    p.slices = slice_count(p.chunk, p.in_blocks + p.out_blocks, threads);
    if (p.chunk >= tiles) {
      p.order = WeightsPlan::Order::channel_groups;
      p.in_group = 16;
      p.out_group = 2;
    } else {
      p.order = WeightsPlan::Order::shared_chunks;
      p.out_group = 8;
    }
  }
  const bool by_group = p.order == WeightsPlan::Order::channel_groups;
  p.panel_plane = odd_lines(std::ptrdiff_t{64} *
                            (by_group ? p.in_group * p.out_group : p.in_blocks * p.out_blocks));
  p.in_strides = plane_strides(p.in_blocks, p.chunk);
  p.out_strides = plane_strides(p.out_blocks, p.chunk);
  Layout layout;
  p.in_planes = layout.add(count * p.in_strides.plane, p.parts);
  p.out_planes = layout.add(count * p.out_strides.plane, p.parts);
  p.panels = layout.add(count * p.panel_plane, by_group ? threads : p.parts);
  p.bias_sums = layout.add(shape.out_channels, p.parts * p.slices);
  p.scratch_bytes = layout.bytes();
  return p;
}

}  // namespace plait::kernels::winograd
