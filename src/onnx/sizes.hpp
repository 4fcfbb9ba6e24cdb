// Arithmetic on sizes: the small subgraphs by which exporters compute shapes.
#pragma once

#include <optional>

#include "onnx/node_reader.hpp"

namespace plait::onnx {

/// The numbers of a shape, or of an index into one. NaN stands for the number of samples.
struct Sizes {
  std::vector<double> values;
  bool scalar = false;
  bool real = false;        ///< floats, which divide without rounding
  std::size_t columns = 0;  ///< of a matrix, as PyTorch writes the sizes of Pad; 0: a list
};

/// A tensor's shape, the batch included.
Sizes sizes_of(const tensor::Shape& sample);
/// Of the shape itself.
Sizes shape_of(const Sizes& sizes);
/// A stored tensor of rank 0 or 1; none for any other, and for many values.
std::optional<Sizes> sizes_of(const tensor::Tensor& tensor);

bool computes_sizes(const std::string& op);
/// The result of a node on sizes: Gather, Concat, Cast, Mul, ... None where it is no such node, or
/// computes with the number of samples.
std::optional<Sizes> fold_sizes(const NodeReader& node, const std::vector<Sizes>& inputs);

/// As integers; none where one is the number of samples, or none.
std::optional<std::vector<std::int64_t>> integers_of(const Sizes& sizes);

}  // namespace plait::onnx
