// Hashes what a model's blocks read, write and hold, and its layers as a model file has them.
#include "graph/model_hash.hpp"

#include "base/hash.hpp"
#include "graph/macs.hpp"
#include "graph/model_file.hpp"
#include "graph/parameters.hpp"
#include "graph/shapes.hpp"

namespace plait::graph {

std::string model_hash(const ModelSpec& model) {
  Hash hash;
  const auto add_number = [&](std::int64_t number) { hash.add(&number, sizeof number); };
  const auto add_text = [&](const std::string& text) {
    add_number(static_cast<std::int64_t>(text.size()));
    hash.add(text);
  };
  const std::vector<tensor::Shape> borders = border_shapes(model);
  const std::vector<BlockCost> costs = block_costs(model);
  add_number(static_cast<std::int64_t>(borders.size()));
  for (const tensor::Shape& border : borders) add_number(border.elements());
  ModelSpec layers{
      .name = model.name, .input = model.input, .blocks = {}, .input_type = model.input_type};
  for (std::size_t i = 0; i < model.blocks.size(); ++i) {
    add_text(model.blocks[i].name);
    for (const int read : inputs_of(model, i)) add_number(read + 1);
    std::int64_t state = 0;
    for (const ops::ParameterSpec& parameter :
         block_parameters(model.blocks[i], input_shapes(model, borders, i))) {
      state += parameter.trainable ? 0 : parameter.shape.elements();
    }
    const std::int64_t inner = costs[i].activation_elements - costs[i].dst_elements;
    for (const std::int64_t number :
         {static_cast<std::int64_t>(i) + 1, costs[i].parameters, state, costs[i].macs, inner}) {
      add_number(number);
    }
    layers.blocks.push_back(model.blocks[i]);
    layers.blocks.back().inputs.clear();  // hashed above
  }
  add_text(write_model(layers));
  return hash.hex();
}

}  // namespace plait::graph
