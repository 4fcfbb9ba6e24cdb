// A model as a TOML file:
//
//   name = "tiny"                     # optional, otherwise the file's name
//   input = [3, 32, 32]               # optional, otherwise the shape of the data
//   input_type = "int32"              # optional: token ids, which an embedding reads
//   [[block]]
//   name = "conv1"                    # optional, otherwise block1, block2, ...
//   repeat = 2                        # optional: blocks conv1.0 and conv1.1
//   layers = [ {type = "convolution", out = 16, kernel = 3, padding = 1}, {type = "relu"} ]
//   [[block]]
//   residual = true                   # adds the block's input to the result of the layers
//   layers = [ ... ]
//   shortcut = [ ... ]                # optional: layers on the skip path
//   after = [ {type = "relu"} ]       # optional: layers after the sum
//   [[block]]
//   layers = [ {type = "flatten"}, {type = "linear", out = "classes"} ]
//
// Layers with equal parameters can share them: {type = "linear", out = 64, weights = "fc1"} uses
// those of an earlier layer, named as "block.layer", or as its block where that has one layer with
// parameters. weights = "conv1" of a block means all its layers, one by one. The layer named first
// owns them: they are counted, begun and saved once. Running statistics are never shared.
//
// A sparse layer names a Matrix Market file beside the model: {type = "sparse_linear", matrix =
// "fc1.mtx"}; its elements stay sparse in training, and begin with the values of the file.
//
// kernel, stride, padding and dilation are a number or [height, width]; a pool's stride is its
// kernel unless given. A layer may have a name and say where its input comes from, an earlier layer
// or "input": {type = "add", from = ["conv2", "input"]}.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph/spec.hpp"

namespace plait::graph {

/// `input` is the data's shape; rank 0 where there is no data, then the file must have one.
/// UserError with file name and line for whatever is wrong; also where the input contradicts the
/// data, and where the network has fewer outputs than `classes` (check_outputs).
ModelSpec parse_model(std::string_view text, const std::string& file, const tensor::Shape& input,
                      int classes);
/// What the file holds; UserError where it cannot be read.
std::string model_file_text(const std::string& path);
ModelSpec read_model_file(const std::string& path, const tensor::Shape& input, int classes);

/// TOML text with parse_model(write_model(m), ...) == m for every model that passes check_model,
/// where its matrix_files lie beside it.
std::string write_model(const ModelSpec& model);

/// The matrices that a written model names: file names and texts.
struct MatrixFile {
  std::string name;
  std::string text;
};
std::vector<MatrixFile> matrix_files(const ModelSpec& model);

/// A file where the name ends in ".toml", otherwise a network of the zoo.
ModelSpec load_model(const std::string& name_or_file, const tensor::Shape& input, int classes);
/// The same whatever the network returns: `classes` is what out = "classes" means, no more.
ModelSpec load_network(const std::string& name_or_file, const tensor::Shape& input, int classes);

}  // namespace plait::graph
