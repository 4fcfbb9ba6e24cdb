// A sample of a data set as a few lines of text.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tensor/shape.hpp"

namespace plait::cli {

/// Channels are averaged and the range of the sample is spread over the shades. A character is
/// about twice as high as wide, so it covers two rows; wide images are made smaller. `shape` is {C,
/// H, W}.
std::vector<std::string> picture(std::span<const float> image, const tensor::Shape& shape,
                                 bool unicode);

/// Pictures of one size beside each other, each with its caption below.
std::string side_by_side(const std::vector<std::vector<std::string>>& pictures,
                         const std::vector<std::string>& captions, std::size_t columns);

}  // namespace plait::cli
