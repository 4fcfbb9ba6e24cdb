// Arrays of parameters from the layout of one block into that of another one, by way of plain
// tensors: for the oracles, which know nothing of run/layout_bridge.
#pragma once

#include "kernels/block.hpp"
#include "tensor/tensor.hpp"

namespace plait::run {

/// Trainable parameters, or running statistics, as a block lays them out.
struct LaidOut {
  const kernels::Block& block;
  float* values;
};

inline void convert(const LaidOut& from, const LaidOut& to, bool trainable) {
  for (std::size_t p = 0; p < from.block.parameters().size(); ++p) {
    const kernels::BlockParameter& here = from.block.parameters()[p];
    const kernels::BlockParameter& there = to.block.parameters()[p];
    if (here.spec.trainable != trainable) continue;
    tensor::Tensor plain(here.spec.shape);
    from.block.unpack_parameter(here, from.values + here.offset, plain.floats().data());
    to.block.pack_parameter(there, plain.floats().data(), to.values + there.offset);
  }
}

}  // namespace plait::run
