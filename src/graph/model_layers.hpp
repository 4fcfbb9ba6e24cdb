// One layer of a model file: {type = "convolution", out = 16, ...}. Inside this room only.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/spec.hpp"
#include "graph/toml_value.hpp"

namespace plait::graph {

/// {type = "split", axis = 1, sizes = [8, 8, 8]}; no operation of its own (model_splits).
struct FileSplit {
  std::int64_t axis = 0;
  std::vector<std::int64_t> sizes;
};

struct FileLayer {
  ops::Operation layer;
  std::optional<std::string> name;
  std::optional<std::vector<std::string>> from;
  std::optional<std::string> weights{};  ///< as written
  std::int64_t line = 0;
  std::optional<FileSplit> split{};
};

/// `block` opens messages ("block 'conv1'"); `classes` is what out = "classes" means.
FileLayer read_layer(const TomlValue& value, const std::string& file, const std::string& block,
                     std::int64_t classes);

/// What a written model calls the matrix of the layer, by its contents.
std::string matrix_file_name(const ops::SparseLinear& sparse);

/// The inverse without name and from: `type = "convolution", out = 16`.
std::string write_layer(const ops::Operation& layer);

}  // namespace plait::graph
