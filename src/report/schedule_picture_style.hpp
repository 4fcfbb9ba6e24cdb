// Colours of a schedule picture: Okabe and Ito's, which colour-blind eyes tell apart. Odd
// minibatches are paler.
#pragma once

#include <string_view>

#include "report/schedule_picture_bars.hpp"

namespace plait::report {

std::string_view css_class(Shade shade);

/// <style> and the pattern it uses.
extern const std::string_view kPictureStyle;

}  // namespace plait::report
