// Counts of an added block (parameters, MACs, bytes) from its spec and source shape.
#include "strategy/parareal/added_block.hpp"

#include "model/macs.hpp"
#include "model/parameters.hpp"

namespace plait {

NetworkBlock added_block(const BlockSpec& spec, const Shape& src) {
  const BlockCost cost = block_cost(spec, src);
  NetworkBlock block{.name = spec.name,
                     .macs = cost.macs,
                     .inner_elements = cost.activation_elements - cost.dst_elements,
                     .spec = spec,
                     .added = true};
  for (const ParameterSpec& parameter : block_parameters(spec, src)) {
    (parameter.trainable ? block.parameters : block.state) += parameter.shape.elements();
  }
  return block;
}

Network network_of_one(const BlockSpec& spec, const Shape& src) {
  Network network;
  network.input = src;
  network.tensors = {src.elements(), block_cost(spec, src).dst_elements};
  network.blocks.push_back(added_block(spec, src));
  network.blocks.back().dst = 1;
  return network;
}

}  // namespace plait
