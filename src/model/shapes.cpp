// The output shape of each kind of layer, and of blocks and models.
#include "model/shapes.hpp"

#include "base/error.hpp"

namespace plait::model {

namespace {

/// Output extent of a sliding window, floor mode.
std::int64_t window_count(std::int64_t extent, std::int64_t kernel, std::int64_t stride,
                          std::int64_t padding) {
  return (extent + 2 * padding - kernel) / stride + 1;
}

/// The same where the last window may reach beyond the padding, if it starts inside the image or
/// the padding before it.
std::int64_t window_count_ceil(std::int64_t extent, std::int64_t kernel, std::int64_t stride,
                               std::int64_t padding) {
  const std::int64_t count = (extent + 2 * padding - kernel + stride - 1) / stride + 1;
  return (count - 1) * stride >= extent + padding ? count - 1 : count;
}

void require_image(const tensor::Shape& src, std::string_view kind, const std::string& where) {
  if (src.rank() != 3) {
    user_error("{}: {} needs an image CxHxW but its input is {}; put it before flatten", where,
               kind, src);
  }
}

struct Infer {
  std::span<const tensor::Shape> srcs;
  const std::string& where;

  tensor::Shape operator()(const ConvolutionSpec& conv) const {
    const tensor::Shape& src = srcs[0];
    require_image(src, "convolution", where);
    const auto at_least_one = [](Extent2 e) { return e.height >= 1 && e.width >= 1; };
    if (conv.out_channels < 1 || !at_least_one(conv.kernel) || !at_least_one(conv.stride) ||
        !at_least_one(conv.dilation) || conv.padding.height < 0 || conv.padding.width < 0) {
      user_error("{}: convolution needs positive channels, kernel, stride and dilation", where);
    }
    if (conv.groups < 1 || src[0] % conv.groups != 0 || conv.out_channels % conv.groups != 0) {
      user_error("{}: {} groups do not divide the channels {} -> {}", where, conv.groups, src[0],
                 conv.out_channels);
    }
    const std::int64_t reach_h = (conv.kernel.height - 1) * conv.dilation.height + 1;
    const std::int64_t reach_w = (conv.kernel.width - 1) * conv.dilation.width + 1;
    if (src[1] + 2 * conv.padding.height < reach_h || src[2] + 2 * conv.padding.width < reach_w) {
      user_error("{}: a kernel that spans {}x{} does not fit its input {} with padding {}x{}",
                 where, reach_h, reach_w, src, conv.padding.height, conv.padding.width);
    }
    return {conv.out_channels,
            window_count(src[1], reach_h, conv.stride.height, conv.padding.height),
            window_count(src[2], reach_w, conv.stride.width, conv.padding.width)};
  }
  tensor::Shape operator()(const LinearSpec& linear) const {
    if (srcs[0].rank() != 1) {
      user_error("{}: linear needs flat features but its input is {}; put a flatten in front",
                 where, srcs[0]);
    }
    if (linear.out_features < 1) user_error("{}: linear needs positive out_features", where);
    return {linear.out_features};
  }
  tensor::Shape operator()(const SparseLinearSpec& sparse) const {
    if (srcs[0].rank() != 1) {
      user_error(
          "{}: sparse_linear needs flat features but its input is {}; put a flatten in front",
          where, srcs[0]);
    }
    if (srcs[0][0] != sparse.pattern->columns) {
      user_error("{}: a matrix of {} x {} does not fit its input of {} features", where,
                 sparse.pattern->rows, sparse.pattern->columns, srcs[0][0]);
    }
    return {sparse.pattern->rows};
  }
  tensor::Shape operator()(const BatchNormSpec&) const { return srcs[0]; }
  tensor::Shape operator()(const ActivationSpec& activation) const {
    if (!(activation.ceiling > 0 && activation.ceiling <= 1e30)) {
      user_error("{}: the ceiling {} of clip is not above 0", where, activation.ceiling);
    }
    if (!(activation.slope >= 0 && activation.slope <= 1e30)) {
      user_error("{}: the slope {} of leaky_relu is negative", where, activation.slope);
    }
    return srcs[0];
  }
  tensor::Shape operator()(const PoolSpec& pool) const {
    const tensor::Shape& src = srcs[0];
    require_image(src, "pooling", where);
    if (pool.kernel.height < 1 || pool.kernel.width < 1 || pool.stride.height < 1 ||
        pool.stride.width < 1 || pool.padding.height < 0 || pool.padding.width < 0 ||
        2 * pool.padding.height > pool.kernel.height ||
        2 * pool.padding.width > pool.kernel.width) {
      user_error(
          "{}: pooling needs a positive kernel and stride, and padding of at most half a kernel",
          where);
    }
    if (src[1] + 2 * pool.padding.height < pool.kernel.height ||
        src[2] + 2 * pool.padding.width < pool.kernel.width) {
      user_error("{}: a pooling window of {}x{} does not fit its input {}", where,
                 pool.kernel.height, pool.kernel.width, src);
    }
    const auto windows = pool.ceil_mode ? window_count_ceil : window_count;
    return {src[0], windows(src[1], pool.kernel.height, pool.stride.height, pool.padding.height),
            windows(src[2], pool.kernel.width, pool.stride.width, pool.padding.width)};
  }
  tensor::Shape operator()(const GlobalAveragePoolSpec&) const {
    require_image(srcs[0], "global_average_pool", where);
    return {srcs[0][0], 1, 1};
  }
  tensor::Shape operator()(const DropoutSpec& dropout) const {
    if (!(dropout.probability >= 0 && dropout.probability < 1)) {
      user_error("{}: dropout probability {} is not in [0, 1)", where, dropout.probability);
    }
    return srcs[0];
  }
  tensor::Shape operator()(const FlattenSpec&) const { return {srcs[0].elements()}; }
  tensor::Shape operator()(const AddSpec&) const {
    if (!(srcs[0] == srcs[1])) {
      user_error("{}: add needs two inputs of equal shape but has {} and {}", where, srcs[0],
                 srcs[1]);
    }
    return srcs[0];
  }
  tensor::Shape operator()(const ConcatSpec&) const {
    std::vector<std::int64_t> dims(srcs[0].dims().begin(), srcs[0].dims().end());
    for (const tensor::Shape& src : srcs.subspan(1)) {
      if (src.rank() != srcs[0].rank() || !(src.without_front() == srcs[0].without_front())) {
        user_error("{}: concat needs inputs that differ in channels only but has {} and {}", where,
                   srcs[0], src);
      }
      dims[0] += src[0];
    }
    return tensor::Shape(std::move(dims));
  }
};

}  // namespace

tensor::Shape layer_shape(const LayerSpec& layer, std::span<const tensor::Shape> srcs,
                          const std::string& where) {
  const bool any = std::holds_alternative<ConcatSpec>(layer);
  const std::size_t wanted = any || std::holds_alternative<AddSpec>(layer) ? 2 : 1;
  if (any ? srcs.size() < wanted : srcs.size() != wanted) {
    user_error("{}: {} takes {}{} input(s) but has {}", where, kind_name(layer), wanted,
               any ? " or more" : "", srcs.size());
  }
  return std::visit(Infer{srcs, where}, layer);
}

std::vector<tensor::Shape> node_inputs(const Node& node, std::span<const tensor::Shape> srcs,
                                       std::span<const tensor::Shape> shapes,
                                       const std::string& where) {
  std::vector<tensor::Shape> inputs;
  for (const int input : node.inputs) {
    if (input < block_input(static_cast<int>(srcs.size()) - 1) ||
        input >= static_cast<int>(shapes.size())) {
      user_error("{}: input {} is not an earlier layer of the block", where, input);
    }
    inputs.push_back(input < 0 ? srcs[static_cast<std::size_t>(number_of_input(input))]
                               : shapes[static_cast<std::size_t>(input)]);
  }
  return inputs;
}

std::vector<tensor::Shape> node_shapes(const BlockSpec& block,
                                       std::span<const tensor::Shape> srcs) {
  if (block.nodes.empty()) user_error("block '{}' has no layers", block.name);
  std::vector<tensor::Shape> shapes;
  for (const Node& node : block.nodes) {
    const std::string where = fmt::format("block '{}', layer '{}'", block.name, node.name);
    shapes.push_back(layer_shape(node.layer, node_inputs(node, srcs, shapes, where), where));
  }
  return shapes;
}

std::vector<tensor::Shape> input_shapes(const ModelSpec& model,
                                        std::span<const tensor::Shape> borders, std::size_t index) {
  std::vector<tensor::Shape> shapes;
  for (const int block : inputs_of(model, index)) {
    shapes.push_back(borders[static_cast<std::size_t>(block + 1)]);
  }
  return shapes;
}

std::vector<tensor::Shape> border_shapes(const ModelSpec& model) {
  std::vector<tensor::Shape> borders{model.input};
  for (std::size_t i = 0; i < model.blocks.size(); ++i) {
    borders.push_back(node_shapes(model.blocks[i], input_shapes(model, borders, i)).back());
  }
  return borders;
}

}  // namespace plait::model
