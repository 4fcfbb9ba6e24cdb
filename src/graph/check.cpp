// The checks of a model: names, limits of every number, the graph inside blocks, and products that
// must fit into memory and 64 bits.
#include "graph/check.hpp"

#include <algorithm>
#include <unordered_set>

#include "base/error.hpp"
#include "graph/input_type.hpp"
#include "graph/shape_advice.hpp"
#include "graph/shapes.hpp"
#include "graph/tied.hpp"

namespace plait::graph {

namespace {

/// min(product, limit + 1), for positive extents.
std::int64_t bounded_product(std::span<const std::int64_t> extents, std::int64_t limit) {
  std::int64_t product = 1;
  for (std::int64_t extent : extents) {
    if (extent > limit / product) return limit + 1;
    product *= extent;
  }
  return product;
}

std::int64_t elements_of(const tensor::Shape& shape, const std::string& where) {
  for (std::int64_t extent : shape.dims()) {
    if (extent < 1)
      user_error("{}: {} is not a shape; every extent must be at least 1", where, shape);
  }
  const std::int64_t elements = bounded_product(shape.dims(), kMaxElements);
  if (elements > kMaxElements) {
    user_error("{}: {} has more than 2^40 elements in one sample; make it smaller", where, shape);
  }
  return elements;
}

bool good_name(const std::string& name) {
  return name.size() <= 200 && std::ranges::all_of(name, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '_' || c == '-' || c == '.';
         });
}

class Checker {
 public:
  explicit Checker(const std::string& where, const LayerCheck& check = {})
      : where_(where), check_(check) {}

  /// `sources`: names of what it reads.
  tensor::Shape block(const BlockSpec& block, std::span<const tensor::Shape> srcs,
                      std::vector<std::string> sources) {
    sources_ = std::move(sources);
    const std::string at = fmt::format("{}: block '{}'", where_, block.name);
    if (block.name.empty() || !good_name(block.name)) {
      user_error("{}: a block name must be 1 to 200 letters, digits, or _ - .", at);
    }
    if (!block_names_.insert(block.name).second) {
      user_error("{} occurs twice; give every block its own name", at);
    }
    names(block, at);
    return layers(block, srcs, at);
  }

  tensor::Shape layers(const BlockSpec& block, std::span<const tensor::Shape> block_srcs,
                       const std::string& at) {
    if (block.nodes.empty()) user_error("{} has no layers", at);
    uses(block, block_srcs.size(), at);
    std::vector<tensor::Shape> shapes;
    for (const Node& node : block.nodes) {
      const std::string layer_at = fmt::format("{}, layer '{}'", at, node.name);
      const std::vector<tensor::Shape> srcs = node_inputs(node, block_srcs, shapes, layer_at);
      if (check_) check_(block, node, srcs);
      ops::check_numbers(node.layer, layer_at);
      shapes.push_back(result(block, node, srcs, layer_at));
      count(node.layer, srcs[0], shapes.back(), layer_at);
    }
    return shapes.back();
  }

 private:
  /// Refusals say what helps.
  tensor::Shape result(const BlockSpec& block, const Node& node,
                       std::span<const tensor::Shape> srcs, const std::string& at) const {
    try {
      return ops::result_shape(node.layer, srcs, at);
    } catch (const UserError& error) {
      if (!fits_swapped(node.layer, srcs)) {
        user_error("{}{}", error.what(), shape_advice(node.layer, srcs, error.what()));
      }
      const bool of_block = node.inputs[0] < 0 && node.inputs[1] < 0;
      user_error(
          "{}: {} has {} and {}, in the wrong order: the image comes first, its factors second; "
          "write {} = [\"{}\", \"{}\"]",
          at, ops::name_of(node.layer), srcs[0], srcs[1], of_block ? "inputs" : "from",
          source(block, node.inputs[1]), source(block, node.inputs[0]));
    }
  }

  /// As a model file names it.
  std::string source(const BlockSpec& block, int input) const {
    if (input >= 0) return block.nodes[static_cast<std::size_t>(input)].name;
    const auto number = static_cast<std::size_t>(number_of_input(input));
    return number < sources_.size() ? sources_[number] : "input";
  }

  void names(const BlockSpec& block, const std::string& at) {
    for (const Node& node : block.nodes) {
      if (!good_name(node.name)) {
        user_error("{}, layer '{}': a layer name must be at most 200 letters, digits, or _ - .", at,
                   node.name);
      }
      if (node.name == "input") user_error("{}: a layer cannot be called 'input'", at);
      if (!layer_names_.insert(full_name(block, node)).second) {
        user_error("{}: the name '{}' occurs twice; give every layer its own name", at,
                   full_name(block, node));
      }
    }
  }

  void uses(const BlockSpec& block, std::size_t inputs, const std::string& at) {
    std::vector<bool> used(block.nodes.size(), false);
    std::vector<bool> read(inputs, false);
    for (const Node& node : block.nodes) {
      for (int input : node.inputs) {
        std::vector<bool>& flags = input >= 0 ? used : read;
        const auto index = static_cast<std::size_t>(input >= 0 ? input : number_of_input(input));
        if (index < flags.size()) flags[index] = true;
      }
    }
    for (std::size_t i = 0; i + 1 < used.size(); ++i) {
      if (!used[i])
        user_error("{}: nothing reads the output of layer '{}'", at, block.nodes[i].name);
    }
    const auto unread = std::ranges::find(read, false);
    const bool reads_any = std::ranges::find(read, true) != read.end();
    if (reads_any && unread != read.end()) {  // none at all: a layer without inputs is refused
      user_error("{}: no layer reads its input number {}", at, unread - read.begin() + 1);
    }
  }

  /// Of an operation without weight_extents.
  static std::int64_t trained_values(const ops::Operation& layer, const tensor::Shape& src) {
    std::int64_t values = 0;
    for (const ops::ParameterSpec& one : ops::parameters_of(layer, src)) {
      if (one.trainable) values += bounded_product(one.shape.dims(), kMaxElements);
    }
    return values;
  }

  void count(const ops::Operation& layer, const tensor::Shape& src, const tensor::Shape& dst,
             const std::string& at) {
    if (++layers_ > kMaxLayers)
      user_error("{}: more than {} layers in the model", where_, kMaxLayers);
    const std::int64_t dst_elements = elements_of(dst, at);
    const std::vector<std::int64_t> extents = ops::weight_extents(layer, src);
    const std::int64_t weights = extents.empty() ? 0 : bounded_product(extents, kMaxElements);
    parameters_ += extents.empty() ? trained_values(layer, src) : weights + extents[0];  // at most
    if (parameters_ > kMaxElements) {
      user_error("{}: the model has more than 2^40 parameters here (input {}); make it smaller", at,
                 src);
    }
    if (extents.empty()) return;
    const std::int64_t extents_of_macs[] = {dst_elements, weights / extents[0]};
    macs_ += bounded_product(extents_of_macs, kMaxMacs);
    if (macs_ > kMaxMacs) {
      user_error("{}: the model needs more than 2^60 multiply-adds per sample; make it smaller",
                 at);
    }
  }

  const std::string& where_;
  const LayerCheck check_;
  std::vector<std::string> sources_;
  std::unordered_set<std::string> block_names_;
  std::unordered_set<std::string> layer_names_;
  std::int64_t layers_ = 0;
  std::int64_t parameters_ = 0;
  std::int64_t macs_ = 0;
};

}  // namespace

namespace {

/// Blocks read earlier ones, and somebody reads each but the last.
void check_inputs(const ModelSpec& model, const std::string& where) {
  std::vector<bool> read(model.blocks.size(), false);
  for (std::size_t i = 0; i < model.blocks.size(); ++i) {
    for (const int input : inputs_of(model, i)) {
      if (input < kModelInput || input >= static_cast<int>(i)) {
        user_error("{}: block '{}' reads block {}, which is not an earlier one", where,
                   model.blocks[i].name, input);
      }
      if (input >= 0) read[static_cast<std::size_t>(input)] = true;
    }
  }
  for (std::size_t i = 0; i + 1 < read.size(); ++i) {
    if (!read[i]) {
      user_error("{}: nothing reads the output of block '{}'; name it in the inputs of a later one",
                 where, model.blocks[i].name);
    }
  }
}

}  // namespace

void check_model(const ModelSpec& model, const std::string& where, const LayerCheck& check) {
  if (model.input.rank() == 0) user_error("{}: the shape of the input is missing", where);
  elements_of(model.input, fmt::format("{}: the input", where));
  if (model.blocks.empty()) user_error("{}: the model has no blocks", where);
  check_inputs(model, where);
  Checker checker(where, check);
  std::vector<tensor::Shape> borders{model.input};
  for (std::size_t i = 0; i < model.blocks.size(); ++i) {
    std::vector<bool> ids;
    std::vector<std::string> sources;
    for (const int input : inputs_of(model, i)) {
      sources.push_back(input < 0 ? "input" : model.blocks[static_cast<std::size_t>(input)].name);
      ids.push_back(input == kModelInput && model.input_type == tensor::DType::i32);
    }
    check_input_types(model.blocks[i], ids,
                      fmt::format("{}: block '{}'", where, model.blocks[i].name));
    borders.push_back(
        checker.block(model.blocks[i], input_shapes(model, borders, i), std::move(sources)));
  }
  check_tied(model, where);
}

tensor::Shape check_block(const BlockSpec& block, std::span<const tensor::Shape> srcs,
                          const std::string& where) {
  return Checker(where).layers(block, srcs, where);
}

}  // namespace plait::graph
