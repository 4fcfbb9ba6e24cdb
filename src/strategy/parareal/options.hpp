// The settings of strategies that split the depth of the network, with their table.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/setting.hpp"

namespace plait::strategy {

struct PararealOptions {
  std::string pieces = "0";            ///< the depth is split into; 0: one per worker; auto
  std::int64_t sweeps = 1;             ///< over the split network
  std::string coarse = "block";        ///< stand-ins for the pieces: block, conv or identity
  std::string residual_wire = "fp32";  ///< of values sent between pieces
  bool fit_coarse = false;             ///< to the initial weights, before training
  std::int64_t fit_steps = 1000;
  std::int64_t replicas = 0;  ///< of each piece; 0: the planner's choice
  bool operator==(const PararealOptions&) const = default;
};

std::span<const Setting<PararealOptions>> parareal_settings();

}  // namespace plait::strategy
