// Finds the pieces in the names of saved tensors, and builds the torn network that they belong to.
#include "strategy/parareal/torn_weights.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace plait::strategy {

plan::Network network_of_weights(const plan::Network& model, const std::vector<std::string>& names,
                                 std::int64_t sweeps) {
  // Only torn networks have these, and every torn one has.
  const auto enters = [](const std::string& name) {
    return name.find(enter_name("") + ".") != std::string::npos;
  };
  std::optional<TornChain> chain;
  if (std::ranges::any_of(names, enters)) chain.emplace(model);
  const std::optional<Tearing> tearing = chain ? tearing_of(*chain, names) : std::nullopt;
  if (!tearing) {
    if (sweeps <= 1) return model;
    setting_error("sweeps", sweeps,
                  "applies to a torn network, but these weights belong to the serial one");
  }
  if (sweeps < 1 || sweeps > tearing->pieces()) {
    setting_error("sweeps", sweeps,
                  "is too large: the network is torn into {} pieces and equals the serial one "
                  "after as many "
                  "sweeps; use 1 to {}",
                  tearing->pieces(), tearing->pieces());
  }
  return tear_network(*chain, *tearing, static_cast<int>(sweeps), Sweeping::all).network;
}

}  // namespace plait::strategy
