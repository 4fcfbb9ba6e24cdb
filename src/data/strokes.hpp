// Strokes: the outlines of the ten glyphs as polylines, and a small anti-aliased pen for grey
// images.
#pragma once

#include <array>
#include <span>
#include <vector>

namespace plait::data {

struct Point {
  float x = 0;
  float y = 0;
};

using Polyline = std::vector<Point>;

/// The strokes of digit 0..9 within [-1, 1] x [-1, 1], y downwards.
std::array<std::vector<Polyline>, 10> glyph_outlines();

/// A square grey image being drawn: 0 is paper, 1 is ink; strokes join by maximum.
class Canvas {
 public:
  explicit Canvas(int side) : side_(side), ink_(static_cast<std::size_t>(side * side)) {}

  /// A round pen of the given radius along the line, all in pixels; clipped at the border.
  void draw(std::span<const Point> line, float radius);
  std::span<const float> ink() const { return ink_; }

 private:
  void draw_segment(Point from, Point to, float radius);

  int side_;
  std::vector<float> ink_;
};

}  // namespace plait::data
