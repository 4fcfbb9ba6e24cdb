// Compares the shape of the last block's result with what losses take.
#include "graph/model_outputs.hpp"

#include "base/error.hpp"
#include "graph/shapes.hpp"

namespace plait::graph {

void check_trainable(const ModelSpec& model, const std::string& where) {
  const tensor::Shape output = border_shapes(model).back();
  if (output.rank() == 1 || output.rank() == 3) return;
  const std::string last =
      fmt::format("{}: the last block '{}' returns {}", where, model.blocks.back().name, output);
  if (output.rank() == 2) {
    user_error(
        "{}, a row for each position of a sequence; there is no loss per position yet: end with "
        "flatten and linear",
        last);
  }
  user_error("{}; a network ends with one row of outputs, or with an image C,H,W of them", last);
}

void check_outputs(const ModelSpec& model, const std::string& where, int classes) {
  check_trainable(model, where);
  const tensor::Shape output = border_shapes(model).back();
  if (output[0] >= classes) return;
  user_error(
      "{}: the last block '{}' returns {} but the data has {} classes; end with out = \"classes\"",
      where, model.blocks.back().name, output, classes);
}

}  // namespace plait::graph
