// `inputs` of a block in a model file: earlier blocks, outputs of splits, or the model's input.
// Inside this room only.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/block_builder.hpp"
#include "graph/model_splits.hpp"
#include "graph/tied.hpp"
#include "graph/toml_value.hpp"

namespace plait::graph {

/// What a model file has said before a block.
struct FileContext {
  const std::string& file;
  std::int64_t classes = 0;
  ModelSplits& splits;
  std::map<std::string, bool, std::less<>> names{};  ///< of all its blocks: whether one is repeated
  std::map<std::string, int, std::less<>> blocks{};  ///< read so far, by name
  std::vector<Tie> ties{};                           ///< of the blocks read so far
};

/// Of block `self`, which `reader` reads. UserError for what is no earlier block.
BlockInputs read_inputs(const TomlReader& reader, const std::string& self,
                        const FileContext& context);

}  // namespace plait::graph
