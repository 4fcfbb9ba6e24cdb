// Lines of published profiles for tests.
#pragma once

#include <fmt/format.h>

#include <string>

namespace plait::cost {

inline std::string node(int number, const std::string& description, const std::string& measures) {
  return fmt::format("node{} -- {} -- {}\n", number, description, measures);
}

inline std::string measures(double forward, double backward, double activation, double parameters) {
  return fmt::format(
      "forward_compute_time={:.3f}, backward_compute_time={:.3f}, activation_size={:.3f}, "
      "parameter_size={:.3f}",
      forward, backward, activation, parameters);
}

}  // namespace plait::cost
