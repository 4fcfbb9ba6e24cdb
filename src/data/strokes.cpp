// The strokes of the ten glyphs, and the pen: pixels covered by distance to a segment.
#include "data/strokes.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace plait::data {

namespace {

struct Arc {
  Point centre;
  Point radius;
  float from_degrees = 0;
  float to_degrees = 360;
};

/// Angles run clockwise on the screen from the positive x axis.
void append(Polyline& line, const Arc& arc) {
  constexpr int kPieces = 12;
  for (int i = 0; i <= kPieces; ++i) {
    const float degrees =
        arc.from_degrees + (arc.to_degrees - arc.from_degrees) * static_cast<float>(i) / kPieces;
    const float angle = degrees * std::numbers::pi_v<float> / 180.0F;
    line.push_back({arc.centre.x + arc.radius.x * std::cos(angle),
                    arc.centre.y + arc.radius.y * std::sin(angle)});
  }
}

Polyline curve(std::initializer_list<Point> before, const Arc& arc,
               std::initializer_list<Point> after = {}) {
  Polyline line(before);
  append(line, arc);
  line.insert(line.end(), after);
  return line;
}

float squared_distance(Point p, Point from, Point to) {
  const float dx = to.x - from.x;
  const float dy = to.y - from.y;
  const float length2 = dx * dx + dy * dy;
  const float along = length2 > 0 ? ((p.x - from.x) * dx + (p.y - from.y) * dy) / length2 : 0.0F;
  const float t = std::clamp(along, 0.0F, 1.0F);
  const float x = p.x - from.x - t * dx;
  const float y = p.y - from.y - t * dy;
  return x * x + y * y;
}

}  // namespace

std::array<std::vector<Polyline>, 10> glyph_outlines() {
  return {{
      {curve({}, {{0, 0}, {0.62F, 1}, 0, 360})},
      {{{-0.4F, -0.55F}, {0.05F, -1}, {0.05F, 1}}},
      {curve({}, {{0, -0.45F}, {0.58F, 0.55F}, -170, 35}, {{-0.6F, 1}, {0.65F, 1}})},
      {curve({}, {{-0.05F, -0.5F}, {0.52F, 0.5F}, -150, 90}),
       curve({}, {{-0.05F, 0.48F}, {0.6F, 0.52F}, -90, 150})},
      {{{0.3F, 1}, {0.3F, -1}, {-0.65F, 0.35F}, {0.7F, 0.35F}}},
      {curve({{0.55F, -1}, {-0.45F, -1}, {-0.5F, -0.1F}}, {{0, 0.4F}, {0.6F, 0.6F}, -110, 145})},
      {curve({{0.35F, -1}, {-0.2F, -0.5F}}, {{0, 0.42F}, {0.56F, 0.58F}, -165, 195})},
      {{{-0.6F, -1}, {0.62F, -1}, {-0.15F, 1}}, {{-0.2F, 0}, {0.5F, 0}}},
      {curve({}, {{0, -0.5F}, {0.46F, 0.5F}, 90, 450}),
       curve({}, {{0, 0.5F}, {0.58F, 0.5F}, -90, 270})},
      {curve({}, {{0, -0.44F}, {0.56F, 0.56F}, 0, 360}, {{0.5F, 0.3F}, {0.25F, 1}})},
  }};
}

void Canvas::draw_segment(Point from, Point to, float radius) {
  const float reach = radius + 1;
  const auto clip = [this](float v) {
    return static_cast<int>(std::clamp(v, 0.0F, static_cast<float>(side_ - 1)));
  };
  const int x_end = clip(std::max(from.x, to.x) + reach);
  const int y_end = clip(std::max(from.y, to.y) + reach);
  for (int y = clip(std::min(from.y, to.y) - reach); y <= y_end; ++y) {
    for (int x = clip(std::min(from.x, to.x) - reach); x <= x_end; ++x) {
      const Point centre{static_cast<float>(x) + 0.5F, static_cast<float>(y) + 0.5F};
      const float squared = squared_distance(centre, from, to);
      if (squared >= reach * reach) continue;
      float& ink = ink_[static_cast<std::size_t>(y * side_ + x)];
      ink = std::max(ink, std::clamp(radius + 0.5F - std::sqrt(squared), 0.0F, 1.0F));
    }
  }
}

void Canvas::draw(std::span<const Point> line, float radius) {
  for (std::size_t i = 1; i < line.size(); ++i) draw_segment(line[i - 1], line[i], radius);
}

}  // namespace plait::data
