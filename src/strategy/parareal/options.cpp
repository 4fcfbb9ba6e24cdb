// The table of the settings of strategies that split the depth of the network.
#include "strategy/parareal/options.hpp"

namespace plait::strategy {

std::span<const Setting<PararealOptions>> parareal_settings() {
  using O = PararealOptions;
  static const std::vector<Setting<O>> rows{
      {.key = "pieces",
       .member = &O::pieces,
       .group = "Parareal",
       .value = "N|auto",
       .help = "number of pieces the depth is split into; 0: one per worker",
       .bounds = {0, 1 << 20},
       .choices = "auto",
       .used_by = "parareal"},
      {.key = "replicas",
       .member = &O::replicas,
       .group = "Parareal",
       .value = "N",
       .help = "workers per piece; 0: the planner chooses",
       .bounds = {0, 1 << 20},
       .used_by = "parareal",
       .decides_bits = false},
      {.key = "sweeps",
       .member = &O::sweeps,
       .group = "Parareal",
       .value = "N",
       .help = "parareal sweeps; as many as pieces give the serial network",
       .bounds = {1, 1 << 20},
       .used_by = "parareal"},
      {.key = "coarse",
       .member = &O::coarse,
       .group = "Parareal",
       .value = "KIND",
       .help = "coarse part of each piece: block, conv or identity",
       .choices = "block, conv, identity",
       .used_by = "parareal"},
      {.key = "residual_wire",
       .member = &O::residual_wire,
       .group = "Parareal",
       .value = "TYPE",
       .help = "type of the values sent between pieces: fp32 or bf16",
       .choices = "fp32, bf16",
       .used_by = "parareal"},
      {.key = "fit_coarse",
       .member = &O::fit_coarse,
       .group = "Parareal",
       .value = "",
       .help = "fit the coarse parts to the network of `init` before training",
       .used_by = "parareal",
       .decides_plan = false},
      {.key = "fit_steps",
       .member = &O::fit_steps,
       .group = "Parareal",
       .value = "N",
       .help = "steps of `fit_coarse`",
       .bounds = {1, 1e9},
       .used_by = "parareal",
       .decides_plan = false},
  };
  return rows;
}

}  // namespace plait::strategy
