// Glyphs: ten digit-like symbols drawn by strokes, 28x28 grey. Nothing to download. Each image has
// its own place, size, slant, thickness, contrast (dark on light or light on dark), noise and stray
// strokes, so that a linear classifier fails where a small convolutional network succeeds.
#pragma once

#include "data/memory.hpp"

namespace plait::data {

enum class GlyphSplit : std::uint32_t { train = 0, test = 1 };

struct GlyphOptions {
  std::uint64_t seed = 1;
  GlyphSplit split = GlyphSplit::train;
  std::int64_t count = 6000;
};

/// Image i depends on (seed, split, i) only: fewer images are the first of more images.
std::shared_ptr<const MemoryDataset> draw_glyphs(const GlyphOptions& options);

}  // namespace plait::data
