// Draws the images: one to four shapes over each other, each filled with its own noisy colour.
#include "data/shapes.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/rng.hpp"
#include "data/strokes.hpp"

namespace plait::data {

namespace {

constexpr int kShapesSide = 48;
constexpr int kShapesPixels = kShapesSide * kShapesSide;
constexpr int kShapesChannels = 3;
constexpr int kShapesClasses = 4;
constexpr float kOutline = 0.75F;  // pixels this near to an outline do not count

using Colour = std::array<float, kShapesChannels>;

/// A disc, or a convex polygon with its corners clockwise or not.
struct DrawnShape {
  int kind = 1;
  Point centre{};
  float radius = 0;
  std::vector<Point> corners{};

  /// Below 0 inside; near the outline in pixels.
  float distance(Point p) const {
    if (corners.empty()) return std::hypot(p.x - centre.x, p.y - centre.y) - radius;
    float most = -radius;
    for (std::size_t i = 0; i < corners.size(); ++i) {
      const Point a = corners[i];
      const Point b = corners[(i + 1) % corners.size()];
      const float length = std::hypot(b.x - a.x, b.y - a.y);
      const float side = ((b.x - a.x) * (p.y - a.y) - (b.y - a.y) * (p.x - a.x)) / length;
      most = std::max(most, -side);  // the corners turn so that the inside is on the positive side
    }
    return most;
  }
};

DrawnShape random_shape(Rng& rng) {
  DrawnShape shape{.kind = static_cast<int>(rng.below(kShapesClasses - 1)) + 1};
  shape.radius = rng.uniform(6, 12) * (shape.kind == 3 ? 1.6F : 1.2F);  // about equal areas
  shape.centre = {rng.uniform(6, kShapesSide - 6), rng.uniform(6, kShapesSide - 6)};
  const float turn = rng.uniform(0, 6.2831853F);
  const float flat = rng.uniform(0.5F, 1.1F);  // half the angle between corners of a rectangle
  if (shape.kind == 1) return shape;
  std::vector<float> angles{0, 2.0943951F, 4.1887902F};
  if (shape.kind == 2) angles = {-flat, flat, 3.1415927F - flat, 3.1415927F + flat};
  for (const float angle : angles) {
    shape.corners.push_back({shape.centre.x + shape.radius * std::cos(turn + angle),
                             shape.centre.y + shape.radius * std::sin(turn + angle)});
  }
  return shape;
}

Colour random_colour(Rng& rng) {
  Colour colour{};
  for (float& channel : colour) channel = rng.uniform(0.1F, 0.9F);
  return colour;
}

void draw_image(Rng& rng, std::uint8_t* pixels, float* labels) {
  std::vector<Colour> painted(kShapesPixels, random_colour(rng));
  std::fill_n(labels, kShapesPixels, 0.0F);
  for (std::uint32_t left = rng.below(4) + 1; left > 0; --left) {
    const DrawnShape shape = random_shape(rng);
    const Colour colour = random_colour(rng);
    for (int i = 0; i < kShapesPixels; ++i) {
      const Point centre{static_cast<float>(i % kShapesSide) + 0.5F,
                         static_cast<float>(i / kShapesSide) + 0.5F};
      const float distance = shape.distance(centre);
      if (distance < 0) painted[static_cast<std::size_t>(i)] = colour;
      if (distance < kOutline)
        labels[i] = distance < -kOutline ? static_cast<float>(shape.kind) : -1;
    }
  }
  const float noise = rng.uniform(0.02F, 0.1F);
  for (int channel = 0; channel < kShapesChannels; ++channel) {
    for (int i = 0; i < kShapesPixels; ++i) {
      const float value = painted[static_cast<std::size_t>(i)][static_cast<std::size_t>(channel)] +
                          noise * rng.normal();
      pixels[channel * kShapesPixels + i] =
          static_cast<std::uint8_t>(std::clamp(value, 0.0F, 1.0F) * 255.0F + 0.5F);
    }
  }
}

}  // namespace

std::shared_ptr<const MemoryDataset> draw_shapes(const ShapesOptions& options) {
  const auto count = static_cast<std::size_t>(options.count);
  std::vector<std::uint8_t> pixels(count * kShapesChannels * kShapesPixels);
  std::vector<float> labels(count * kShapesPixels);
  for (std::size_t i = 0; i < count; ++i) {
    Rng rng(options.seed, Purpose::draw, std::uint64_t{options.split} + 2, i);
    draw_image(rng, pixels.data() + i * kShapesChannels * kShapesPixels,
               labels.data() + i * kShapesPixels);
  }
  return std::make_shared<MemoryDataset>(
      MemoryData{.sample_shape = {kShapesChannels, kShapesSide, kShapesSide},
                 .images = std::move(pixels),
                 .target_shape = {kShapesSide, kShapesSide},
                 .targets = std::move(labels),
                 .classes = kShapesClasses});
}

}  // namespace plait::data
