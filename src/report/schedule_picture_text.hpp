// Words and numbers of a schedule picture.
#pragma once

#include <string>
#include <vector>

#include "report/schedule_picture_bars.hpp"

namespace plait::report {

/// For SVG's text and attributes; what XML does not allow becomes the replacement character.
std::string xml_text(const std::string& text);

/// At most two decimals, none that are zero.
std::string pixels(double value);

/// "1.25 ms", "380 us".
std::string seconds_text(double seconds, int digits = 4);

struct Tick {
  double seconds = 0;
  std::string label{};
};
/// Round moments inside the window, `wanted` of them or fewer, all in one unit.
std::vector<Tick> round_ticks(TimeWindow window, double wanted);

/// "forward of conv1 .. conv5, samples 2/8 .. 3/8, minibatch 4", and when; in lines. Not escaped.
std::string bar_text(const plan::Plan& plan, const plan::Program& program, const Bar& bar);

}  // namespace plait::report
