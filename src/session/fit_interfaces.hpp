// The interfaces of a network that a strategy has torn, as fitting its added blocks needs them.
#pragma once

#include <vector>

#include "plan/network.hpp"

namespace plait::session {

/// One difference of the network and what belongs to it; blocks by index.
struct FitInterface {
  std::vector<int> enter{};   ///< C
  std::vector<int> coarse{};  ///< F; empty: the identity
  std::vector<int> before{};  ///< of the model, from the interface before (or the input) to here
  std::vector<int> piece{};   ///< g
};

/// In the order of the network. Failure where a difference is not at an interface.
std::vector<FitInterface> fit_interfaces(const plan::Network& network);

}  // namespace plait::session
