// Networks with weights that no file can mix up unnoticed: biases and running statistics differ
// from where they begin.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/rng.hpp"
#include "graph/model_file.hpp"
#include "graph/parameters.hpp"
#include "graph/shapes.hpp"
#include "run/workspace.hpp"

namespace plait::onnx {

inline std::vector<checkpoint::NamedTensor> lively_weights(const graph::ModelSpec& model) {
  std::vector<checkpoint::NamedTensor> weights;
  const std::vector<tensor::Shape> borders = graph::border_shapes(model);
  for (std::size_t i = 0; i < model.blocks.size(); ++i) {
    for (const ops::ParameterSpec& spec :
         graph::own_parameters(model.blocks[i], graph::input_shapes(model, borders, i))) {
      const std::string name = model.blocks[i].name + "." + spec.name;
      tensor::Tensor tensor = graph::initial_value(spec, 7, name);
      Rng rng(11, Purpose::test, weights.size());
      if (spec.shape.rank() == 1 && spec.pattern == nullptr) {
        for (float& x : tensor.floats()) x += rng.uniform(0.01F, 0.2F);
      }
      weights.push_back({name, std::move(tensor)});
    }
  }
  return weights;
}

inline tensor::Tensor noise(const tensor::Shape& shape) {
  tensor::Tensor tensor(shape);
  Rng rng(3, Purpose::test);
  for (float& x : tensor.floats()) x = rng.normal();
  return tensor;
}

/// What plait computes for a batch in evaluation.
inline std::vector<float> logits_of(const graph::ModelSpec& model,
                                    const std::vector<checkpoint::NamedTensor>& weights,
                                    const tensor::Tensor& images) {
  run::Chain chain(model, {.batch = images.shape()[0]});
  run::ParameterStore parameters(chain, 1, 0);
  parameters.import_weights(weights, "the test");
  run::Workspace workspace(chain);
  const auto logits = workspace.forward(parameters, images);
  return {logits.begin(), logits.end()};
}

}  // namespace plait::onnx
