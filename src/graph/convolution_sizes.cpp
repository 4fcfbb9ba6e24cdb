// The memory of a convolution: the layouts of oneDNN's direct kernels, and the scratch memory of
// these and of our Winograd kernels.
#include <algorithm>

#include "base/rounding.hpp"
#include "graph/layer_sizes.hpp"
#include "graph/shapes.hpp"

namespace plait::graph {

namespace {

constexpr std::int64_t kMiB = 1 << 20;

struct SizedConvolution {
  const ops::Convolution& spec;
  const tensor::TensorDesc& src;
  tensor::Shape dst;  ///< of a sample
  std::int64_t threads;
  tensor::Layout images;

  std::int64_t batch() const { return src.shape[0]; }
  std::int64_t in() const { return src.shape[1]; }
  std::int64_t out() const { return spec.out_channels; }
  std::int64_t taps() const { return spec.kernel.height * spec.kernel.width; }
  std::int64_t block() const { return tensor::channel_block(images); }
  std::int64_t whole_blocks(std::int64_t channels) const { return round_up(channels, block()); }
  bool depthwise() const { return spec.groups == in() && spec.groups == out() && in() > 1; }
};

/// Whether the direct kernels take it with channels in blocks; otherwise it is a product of
/// matrices on plain tensors.
bool blocked(const SizedConvolution& c) {
  if (c.spec.groups == 1) {
    return c.src.layout != tensor::Layout::plain || c.in() == 1 || c.in() == 3;
  }
  if (c.src.layout == tensor::Layout::plain) return false;
  const std::int64_t block = c.block();
  return c.depthwise() ||
         (c.in() / c.spec.groups % block == 0 && c.out() / c.spec.groups % block == 0);
}

std::int64_t weight_floats(const SizedConvolution& c, bool blocked) {
  if (!blocked) return c.out() * (c.in() / c.spec.groups) * c.taps();
  if (c.depthwise()) return c.whole_blocks(c.out()) * c.taps();
  if (c.spec.groups > 1) return c.out() * (c.in() / c.spec.groups) * c.taps();
  const std::int64_t in = c.src.layout == tensor::Layout::plain ? c.in() : c.whole_blocks(c.in());
  return c.whole_blocks(c.out()) * in * c.taps();
}

bool by_winograd(const SizedConvolution& c) {
  const ops::Convolution& s = c.spec;
  const std::int64_t kernel = s.kernel.height;
  return c.src.layout == tensor::Layout::blocked8 && s.groups == 1 &&
         (kernel == 3 || kernel == 5) && s.kernel.width == kernel &&
         s.stride == ops::Extent2{1, 1} && s.dilation == ops::Extent2{1, 1} &&
         s.padding.height == s.padding.width && s.padding.height < kernel;
}

/// Tiles of the results, and products of a tile.
struct TileCount {
  std::int64_t count = 0;
  std::int64_t positions = 0;
};

TileCount tiles_of(const SizedConvolution& c) {
  const auto tiled = [&](std::int64_t side, std::int64_t positions) {
    const std::int64_t rows = divide_up(c.dst[1], side);
    const std::int64_t columns = divide_up(c.dst[2], side);
    return TileCount{c.batch() * rows * columns, positions};
  };
  if (c.spec.kernel.height == 3) {
    return c.src.shape[2] <= 2 && c.src.shape[3] <= 2 ? tiled(2, 9) : tiled(4, 36);
  }
  const TileCount small = tiled(2, 36);
  const TileCount large = tiled(4, 64);
  return small.count * small.positions < large.count * large.positions ? small : large;
}

/// Forward, or backward_data with the channels swapped: transformed tiles of a chunk, transformed
/// weights.
std::int64_t winograd_data(const TileCount& tiles, std::int64_t in, std::int64_t out,
                           std::int64_t threads) {
  const std::int64_t each = tensor::kFloatBytes * tiles.positions;
  const std::int64_t panels = each * in * out;
  if (panels > 4 * kMiB && out >= 32 * threads) {
    const std::int64_t chunk =
        std::min(tiles.count, std::max(8 * kMiB / (each * in), std::int64_t{6}));
    return each * (in * chunk + threads * 16 * (chunk + in));
  }
  const std::int64_t most = std::max(kMiB / (each * (in + out)), std::int64_t{24});
  return threads * each * (in + out) * std::min(most, tiles.count / threads + 6) + panels;
}

std::int64_t winograd_weights(const TileCount& tiles, std::int64_t in, std::int64_t out,
                              std::int64_t threads) {
  const std::int64_t each = tensor::kFloatBytes * tiles.positions;
  const std::int64_t tile = each * (in + out);
  const std::int64_t panels = each * in * out;
  if (panels <= 3 * kMiB) {
    const std::int64_t chunk = std::max(kMiB / tile, std::int64_t{48});
    return threads * (tile * std::min(chunk, tiles.count / threads + 6) + panels);
  }
  const std::int64_t chunk = std::max(8 * kMiB / tile, std::int64_t{96});
  if (chunk >= tiles.count) return tile * (tiles.count + 6) + threads * each * 64 * 32;
  return tile * chunk + panels;
}

std::int64_t scratch(const SizedConvolution& c, std::int64_t weights, bool blocked) {
  if (!blocked) {  // columns of the image for every thread
    return tensor::kFloatBytes * c.threads * c.in() / c.spec.groups * c.taps() * c.dst[1] *
           c.dst[2];
  }
  if (c.src.layout == tensor::Layout::plain) {
    // The weights' gradient once per thread; the image's gradient, which is not asked for, blocked.
    const std::int64_t image = c.batch() * c.block() * c.src.shape[2] * c.src.shape[3];
    return tensor::kFloatBytes * std::max((1 + c.threads) * weights, image + weights);
  }
  // backward_data reads the weights in another order, backward_weights adds up those of threads.
  std::int64_t most = tensor::kFloatBytes * weights * std::max<std::int64_t>(1, c.threads - 1);
  if (by_winograd(c)) {
    const TileCount tiles = tiles_of(c);
    const std::int64_t in = c.whole_blocks(c.in());
    const std::int64_t out = c.whole_blocks(c.out());
    most = std::max({winograd_data(tiles, in, out, c.threads),
                     winograd_data(tiles, out, in, c.threads),
                     winograd_weights(tiles, in, out, c.threads)});
  }
  return most;
}

}  // namespace

LayerSizes convolution_sizes(const ops::Convolution& spec, const tensor::TensorDesc& src,
                             const SizeOptions& options) {
  const tensor::Shape sample = src.shape.without_front();
  const SizedConvolution c{.spec = spec,
                           .src = src,
                           .dst = ops::result_shape(spec, {&sample, 1}, "memory"),
                           .threads = options.threads,
                           .images = options.images};
  const bool in_blocks = blocked(c);
  LayerSizes sizes;
  sizes.dst = {.shape = c.dst.with_front(c.batch()),
               .layout = in_blocks ? c.images : tensor::Layout::plain};
  const std::int64_t weights = weight_floats(c, in_blocks);
  sizes.weights_reads_src = true;
  sizes.weights = whole_lines(weights) + (spec.bias ? whole_lines(c.whole_blocks(c.out())) : 0);
  sizes.scratch_bytes = scratch(c, weights, in_blocks);
  return sizes;
}

}  // namespace plait::graph
