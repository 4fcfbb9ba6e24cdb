// Moment: where a task stands in the endless loop, seen from the minibatch it works on. Minibatch m
// comes to it at step m + offset, place `position` of the program.
#pragma once

#include <compare>

namespace plait::plan {

struct Moment {
  int offset = 0;
  int position = 0;
  auto operator<=>(const Moment&) const = default;
};

}  // namespace plait::plan
