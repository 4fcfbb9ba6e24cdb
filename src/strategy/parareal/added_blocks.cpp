// Cuts an added block as a model of this block alone would be cut.
#include "strategy/parareal/added_blocks.hpp"

namespace plait::strategy {

plan::Network added_network(const graph::BlockSpec& spec, const tensor::Shape& src) {
  plan::Network network = plan::make_network({.name = spec.name, .input = src, .blocks = {spec}});
  for (plan::NetworkBlock& block : network.blocks) block.added = true;
  return network;
}

}  // namespace plait::strategy
