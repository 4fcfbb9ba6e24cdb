// Images in files: JPEG and PNG, by their first bytes, whatever their names say.
#pragma once

#include <string>

#include "data/images/pixels.hpp"

namespace plait::data {

/// More pixels are refused rather than decoded.
constexpr std::int64_t kPixelLimit = std::int64_t{1} << 27;

/// `channels` 3 is red, green, blue; 1 is grey (the luma of ITU-R 601). Transparent pixels are laid
/// on black. UserError naming `name` on damage, also when the end is missing.
Pixels decode_image(ByteView bytes, const std::string& name, int channels);

}  // namespace plait::data
