// Multiply-adds of each kind of layer; sums over blocks and models.
#include "model/macs.hpp"

#include "model/parameters.hpp"
#include "model/shapes.hpp"

namespace plait::model {

namespace {

struct Macs {
  const tensor::Shape& src;
  const tensor::Shape& dst;

  // every dst element is a dot product over (C / groups) x kh x kw
  std::int64_t operator()(const ConvolutionSpec& conv) const {
    return dst.elements() * (src[0] / conv.groups) * conv.kernel.height * conv.kernel.width;
  }
  std::int64_t operator()(const LinearSpec&) const { return dst[0] * src[0]; }
  std::int64_t operator()(const SparseLinearSpec& sparse) const { return sparse.pattern->size(); }
  template <class Other>
  std::int64_t operator()(const Other&) const {
    return 0;
  }
};

}  // namespace

std::int64_t layer_macs(const LayerSpec& layer, const tensor::Shape& src,
                        const tensor::Shape& dst) {
  return std::visit(Macs{src, dst}, layer);
}

BlockCost block_cost(const BlockSpec& block, std::span<const tensor::Shape> srcs) {
  const std::vector<tensor::Shape> shapes = node_shapes(block, srcs);
  BlockCost cost{.dst_elements = shapes.back().elements()};
  for (const tensor::Shape& src : srcs) cost.src_elements += src.elements();
  for (std::size_t i = 0; i < block.nodes.size(); ++i) {
    const tensor::Shape node_src =
        node_inputs(block.nodes[i], srcs, std::span(shapes).first(i), block.name).front();
    cost.macs += layer_macs(block.nodes[i].layer, node_src, shapes[i]);
    cost.activation_elements += shapes[i].elements();
    for (const ParameterSpec& parameter : layer_parameters(block.nodes[i].layer, node_src)) {
      if (parameter.trainable) cost.parameters += parameter.shape.elements();
    }
  }
  return cost;
}

std::vector<BlockCost> block_costs(const ModelSpec& model) {
  const std::vector<tensor::Shape> borders = border_shapes(model);
  std::vector<BlockCost> costs;
  costs.reserve(model.blocks.size());
  for (std::size_t i = 0; i < model.blocks.size(); ++i) {
    costs.push_back(block_cost(model.blocks[i], input_shapes(model, borders, i)));
  }
  return costs;
}

BlockCost model_cost(const ModelSpec& model) {
  BlockCost total{.src_elements = model.input.elements(), .dst_elements = model.input.elements()};
  for (const BlockCost& cost : block_costs(model)) {
    total.macs += cost.macs;
    total.parameters += cost.parameters;
    total.activation_elements += cost.activation_elements;
    total.dst_elements = cost.dst_elements;
  }
  return total;
}

}  // namespace plait::model
