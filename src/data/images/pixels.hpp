// Pixels: one decoded image, bytes, row after row with the channels of a pixel side by side.
#pragma once

#include <cstdint>

#include "data/bytes.hpp"

namespace plait::data {

struct Pixels {
  int height = 0;
  int width = 0;
  int channels = 3;
  Bytes values{};

  const std::uint8_t* row(int y) const {
    return values.data() + static_cast<std::size_t>(y) * static_cast<std::size_t>(width) *
                               static_cast<std::size_t>(channels);
  }
};

}  // namespace plait::data
