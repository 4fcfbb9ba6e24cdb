// Which elements a dropout layer keeps: a pure function of (seed, step, layer name, sample), shared
// by every back end, so that neither the back end nor the cut of a minibatch changes the mask.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "kernels/layer.hpp"

namespace plait::kernels {

/// What tells one dropout layer's stream from another's.
std::uint64_t dropout_key(std::string_view layer_name);

struct DropoutDraw {
  std::uint64_t key = 0;  ///< dropout_key() of the layer's name
  Randomness randomness;
  std::int64_t sample = 0;  ///< n of the task: sample `first_sample + n` of the minibatch
  double probability = 0.5;
};

/// keep[e] <- 1 if element e (in plain C, H, W order) of the sample is kept, else 0.
void draw_dropout_mask(const DropoutDraw& draw, std::span<std::uint8_t> keep);

/// What kept elements are multiplied by: 1 / (1 - p).
float dropout_scale(double probability);

}  // namespace plait::kernels
