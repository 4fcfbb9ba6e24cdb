// Counts of an added block (parameters, MACs, bytes) from its spec and source shape.
#include "strategy/parareal/added_block.hpp"

#include "graph/macs.hpp"
#include "graph/parameters.hpp"

namespace plait::strategy {

plan::NetworkBlock added_block(const graph::BlockSpec& spec, const tensor::Shape& src) {
  const graph::BlockCost cost = graph::block_cost(spec, src);
  plan::NetworkBlock block{.name = spec.name,
                           .macs = cost.macs,
                           .inner_elements = cost.activation_elements - cost.dst_elements,
                           .spec = spec,
                           .added = true};
  for (const ops::ParameterSpec& parameter : graph::block_parameters(spec, src)) {
    (parameter.trainable ? block.parameters : block.state) += parameter.shape.elements();
  }
  return block;
}

plan::Network network_of_one(const graph::BlockSpec& spec, const tensor::Shape& src) {
  plan::Network network;
  network.input = src;
  network.tensors = {src.elements(), graph::block_cost(spec, src).dst_elements};
  network.blocks.push_back(added_block(spec, src));
  network.blocks.back().srcs = {0};
  network.blocks.back().dst = 1;
  return network;
}

}  // namespace plait::strategy
