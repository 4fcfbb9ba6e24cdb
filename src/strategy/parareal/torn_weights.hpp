// Weights say by their names how the network they belong to is torn.
#pragma once

#include "strategy/parareal/torn_network.hpp"

namespace plait::strategy {

/// The network that weights with these names belong to: the model, or the model torn as they say
/// and swept `sweeps` times, every piece each time. UserError where sweeps do not fit.
plan::Network network_of_weights(const plan::Network& model, const std::vector<std::string>& names,
                                 std::int64_t sweeps);

}  // namespace plait::strategy
