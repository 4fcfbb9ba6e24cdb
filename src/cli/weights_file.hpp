// Files of weights from elsewhere, and for elsewhere: .safetensors with plait's names or PyTorch's,
// and ONNX.
#pragma once

#include <string>
#include <vector>

#include "checkpoint/safetensors.hpp"
#include "graph/spec.hpp"

namespace plait::cli {

struct WeightsFile {
  std::vector<checkpoint::NamedTensor> tensors;
  std::string note = {};  ///< for the user; mostly ""
};

/// Under the names of the model (and of what tearing has added to it). A file whose name ends in
/// ".onnx" is one, any other is .safetensors. UserError with the file's name where it cannot be of
/// this model; whether every tensor is there and fits is the importer's question.
WeightsFile read_weights(const std::string& file, const graph::ModelSpec& model);

/// Tells the note.
std::vector<checkpoint::NamedTensor> read_weights_aloud(const std::string& file,
                                                        const graph::ModelSpec& model);

/// The same tensors under PyTorch's names; UserError where there are none for the model.
std::vector<checkpoint::NamedTensor> with_torch_names(std::vector<checkpoint::NamedTensor> weights,
                                                      const graph::ModelSpec& model);

}  // namespace plait::cli
