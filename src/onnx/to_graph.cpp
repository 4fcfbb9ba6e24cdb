// Walks over the blocks of a network and their layers; each is written by write_layer.
#include "onnx/to_graph.hpp"

#include "graph/shapes.hpp"
#include "onnx/write_layer.hpp"

namespace plait::onnx {

onnx_graph::Graph to_onnx(const graph::ModelSpec& model,
                          const std::vector<checkpoint::NamedTensor>& weights,
                          const std::string& source) {
  GraphWriter writer(weights, source);
  const std::vector<tensor::Shape> borders = graph::border_shapes(model);
  std::vector<std::string> results{
      GraphWriter::input_name(model)};  // of the input and of every block
  for (std::size_t i = 0; i < model.blocks.size(); ++i) {
    const graph::BlockSpec& block = model.blocks[i];
    const std::vector<int> reads = graph::inputs_of(model, i);
    const std::vector<tensor::Shape> srcs = graph::input_shapes(model, borders, i);
    const std::vector<tensor::Shape> shapes = graph::node_shapes(block, srcs);
    std::vector<std::string> values;
    for (const graph::Node& node : block.nodes) {
      GraphWriter::Place place{.name = graph::full_name(block, node),
                               .weights = node.weights,
                               .srcs = {},
                               .shapes = graph::node_inputs(node, srcs, shapes, block.name)};
      for (const int input : node.inputs) {
        place.srcs.push_back(
            input < 0 ? results[static_cast<std::size_t>(
                            1 + reads[static_cast<std::size_t>(graph::number_of_input(input))])]
                      : values[static_cast<std::size_t>(input)]);
      }
      writer.begin(node.layer, std::move(place));
      values.push_back(write_layer(node.layer, writer));
    }
    results.push_back(values.back());
  }
  return writer.finish(model, results.back());
}

}  // namespace plait::onnx
