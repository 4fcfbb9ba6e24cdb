// A part of an image at another size: bilinear, and the mean of what falls together where the
// result is smaller.
#pragma once

#include <cstdint>
#include <span>

#include "base/rng.hpp"
#include "data/images/pixels.hpp"

namespace plait::data {

/// In pixels of the image; may begin and end inside a pixel.
struct Box {
  double top = 0;
  double left = 0;
  double height = 0;
  double width = 0;
};

struct ImageSize {
  int height = 0;
  int width = 0;
  bool operator==(const ImageSize&) const = default;
};

/// The middle of an image that was scaled so that its shorter side fits, and cut to `size`. With
/// `shorter` > 0 the shorter side was scaled to that many pixels before the cut.
Box middle_box(const Pixels& image, ImageSize size, int shorter);

/// From `least` to all of the area, width / height from 3/4 to 4/3, anywhere; the middle if ten
/// tries do not fit.
Box random_box(const Pixels& image, double least, Rng& rng);

/// Channel after channel, as networks read them: exactly channels x height x width bytes.
void resample(const Pixels& image, const Box& box, ImageSize size, std::span<std::uint8_t> out);

}  // namespace plait::data
