// The official text files of the Sparse DNN GraphChallenge: fields separated by tabs, counted from
// 1. Anything that does not fit is a UserError that names file and line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/sparse_pattern.hpp"

namespace plait::graph {

struct GraphChallenge {
  std::int64_t neurons = 0;
  float bias = 0;
  std::vector<tensor::SparseMatrix> layers;  ///< rows are output neurons: z = W y
};

/// All layers n<NEURONS>-l<K>.tsv of one network in a folder, K = 1, 2, ...; other files are left
/// alone.
GraphChallenge read_graphchallenge(const std::string& folder);
/// The same without reading the layers.
std::int64_t graphchallenge_neurons(const std::string& folder);

/// One layer. The official rule is Y_next = Y W with one image per row of Y, so the first field of
/// a line is the input neuron, the second the output neuron: the matrix is turned while reading.
tensor::SparseMatrix parse_graphchallenge_layer(std::string_view text, std::int64_t neurons,
                                                const std::string& source);

/// Images as lines "image pixel 1". Rows are images, as many as the highest number says.
tensor::SparsePattern read_sparse_images(const std::string& file, std::int64_t neurons);

/// The images that have an output, by their numbers (from 1), ascending.
std::vector<std::int64_t> read_categories(const std::string& file);

}  // namespace plait::graph
