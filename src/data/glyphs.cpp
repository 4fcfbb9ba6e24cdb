// Draws the images: a random affine map of a glyph's strokes, distractors, contrast and noise.
#include "data/glyphs.hpp"

#include <algorithm>
#include <cmath>

#include "base/rng.hpp"
#include "data/strokes.hpp"

namespace plait::data {

namespace {

constexpr int kSide = 28;
constexpr int kPixels = kSide * kSide;
constexpr int kClasses = 10;

/// Unit coordinates to pixels: scale, shear, rotate, translate.
struct Affine {
  float xx, xy, yx, yy, x, y;
  Point operator()(Point p) const { return {xx * p.x + xy * p.y + x, yx * p.x + yy * p.y + y}; }
};

Affine random_affine(Rng& rng) {
  const float scale = rng.uniform(7.6F, 9.8F);
  const float aspect = rng.uniform(0.85F, 1.15F);
  const float shear = rng.uniform(-0.2F, 0.2F);
  const float angle = rng.uniform(-0.25F, 0.25F);
  const float c = std::cos(angle) * scale;
  const float s = std::sin(angle) * scale;
  constexpr float centre = kSide / 2.0F;
  const float room = std::min(2.2F, 12.8F - scale);
  return {c * aspect,
          c * shear - s,
          s * aspect,
          s * shear + c,
          centre + rng.uniform(-room, room),
          centre + rng.uniform(-room, room)};
}

/// A short stray stroke near the border.
void draw_distractor(Canvas& canvas, Rng& rng) {
  const float along = rng.uniform(0, kSide);
  const float edge = rng.uniform(0.5F, 2.5F);
  const std::uint32_t border = rng.below(4);
  const float far = border % 2 == 0 ? edge : kSide - edge;
  const Point from = border < 2 ? Point{along, far} : Point{far, along};
  const float angle = rng.uniform(0, 6.2831853F);
  const float length = rng.uniform(1, 3.5F);
  const Point to{from.x + length * std::cos(angle), from.y + length * std::sin(angle)};
  canvas.draw(std::array{from, to}, rng.uniform(0.3F, 0.8F));
}

void draw_glyph(const std::vector<Polyline>& outline, Rng& rng, std::uint8_t* pixels) {
  const Affine affine = random_affine(rng);
  const float radius = rng.uniform(0.8F, 1.6F);
  Canvas canvas(kSide);
  Polyline placed;
  for (const Polyline& line : outline) {
    placed.clear();
    for (const Point& point : line) {
      placed.push_back(
          affine({point.x + rng.uniform(-0.04F, 0.04F), point.y + rng.uniform(-0.04F, 0.04F)}));
    }
    canvas.draw(placed, radius);
  }
  for (std::uint32_t left = rng.below(3); left > 0; --left) draw_distractor(canvas, rng);

  // Light or (less often) dark ink on grey paper, then a little sensor noise.
  const float paper = rng.uniform(0.45F, 0.5F);
  const float contrast = rng.uniform(0.3F, 0.5F);
  const float ink = rng.uniform() < 0.3F ? paper - contrast : paper + contrast;
  const float noise = rng.uniform(0.01F, 0.04F);
  for (int i = 0; i < kPixels; ++i) {
    const float grey =
        paper + (ink - paper) * canvas.ink()[static_cast<std::size_t>(i)] + noise * rng.normal();
    pixels[i] = static_cast<std::uint8_t>(std::clamp(grey, 0.0F, 1.0F) * 255.0F + 0.5F);
  }
}

}  // namespace

std::shared_ptr<const MemoryDataset> draw_glyphs(const GlyphOptions& options) {
  const auto outlines = glyph_outlines();
  const auto count = static_cast<std::size_t>(options.count);
  std::vector<std::uint8_t> pixels(count * kPixels);
  std::vector<float> labels(count);
  for (std::size_t i = 0; i < count; ++i) {
    Rng rng(options.seed, Purpose::draw, static_cast<std::uint64_t>(options.split), i);
    const std::uint32_t label = rng.below(kClasses);
    labels[i] = static_cast<float>(label);
    draw_glyph(outlines[label], rng, pixels.data() + i * kPixels);
  }
  return std::make_shared<MemoryDataset>(MemoryData{.sample_shape = {1, kSide, kSide},
                                                    .images = std::move(pixels),
                                                    .target_shape = {1},
                                                    .targets = std::move(labels),
                                                    .classes = kClasses});
}

}  // namespace plait::data
