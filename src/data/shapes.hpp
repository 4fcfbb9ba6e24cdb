// Shapes: discs, rectangles and triangles on noise, 3x48x48, with a label for each pixel. Nothing
// to download. Colours say nothing about the kind, so that a network must see the outline.
#pragma once

#include "data/memory.hpp"

namespace plait::data {

struct ShapesOptions {
  std::uint64_t seed = 1;
  /// 0 train, 1 test: their images have nothing in common.
  std::uint32_t split = 0;
  std::int64_t count = 2000;
};

/// Labels: 0 background, 1 disc, 2 rectangle, 3 triangle, -1 (does not count) within a pixel of an
/// outline. Image i depends on (seed, split, i) only.
std::shared_ptr<const MemoryDataset> draw_shapes(const ShapesOptions& options);

}  // namespace plait::data
