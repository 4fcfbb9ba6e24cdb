// The parts a torn network has beside the model's, made from shapes alone: what brings the image
// straight to a piece (C_j), and the cheap stand-in for a piece (F_j).
#pragma once

#include <string>
#include <string_view>

#include "graph/spec.hpp"

namespace plait::strategy {

/// All map 0 to 0: no bias, and of BatchNorm only the kind that is not centered.
enum class CoarseKind {
  block,    ///< a bottleneck with a shortcut (of flat tensors: two linear layers with one)
  conv,     ///< one 3x3 convolution (of flat tensors: one linear layer)
  identity  ///< nothing: the shapes before and behind the piece must be equal
};

std::string_view name_of(CoarseKind kind);
/// Of a word that passes the table of settings.
CoarseKind coarse_kind(const std::string& text);

/// From the image to a tensor of this shape: a 3x3 convolution and BatchNorm, after averaging where
/// the image is more than twice as large or no stride leads to the size; a larger kernel with more
/// padding where the tensor is larger than the image; a linear layer for flat ones; then ReLU if
/// the tensor is `rectified`. Without nodes: there is no such way.
graph::BlockSpec enter_block(const std::string& name, const tensor::Shape& image,
                             const tensor::Shape& dst, bool rectified = false);

/// Without nodes: identity, or there is no such way (`coarse_fits`).
graph::BlockSpec coarse_block(const std::string& name, CoarseKind kind, const tensor::Shape& src,
                              const tensor::Shape& dst);
bool coarse_fits(CoarseKind kind, const tensor::Shape& src, const tensor::Shape& dst);

}  // namespace plait::strategy
