// What a network from a document must be before anything counts with it.
#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "graph/block_call.hpp"
#include "graph/check.hpp"
#include "graph/input_type.hpp"
#include "graph/parameters.hpp"
#include "plan/json_network.hpp"

namespace plait::plan {

namespace {

/// A document whose layers say all sizes.
class LayerCheck {
 public:
  LayerCheck(const Network& network, const JsonField& field)
      : network_(network), cut_(is_cut(network)), field_(field), shapes_(network.tensors.size()) {}

  void run() {
    if (elements_of(network_.input) != network_.tensors.front()) {
      field_.at("input").refuse("is another size than tensor 0");
    }
    shapes_.front() = network_.input;
    const bool with_layers = std::ranges::any_of(
        network_.blocks, [](const NetworkBlock& block) { return !block.spec.nodes.empty(); });
    const std::vector<JsonField> fields = field_.at("blocks").list(network_.blocks.size());
    for (std::size_t i = 0; i < network_.blocks.size(); ++i) {
      const NetworkBlock& block = network_.blocks[i];
      count(block, fields[i]);
      if (with_layers) layers(block, fields[i]);  // else only its costs are known
    }
  }

 private:
  /// Shapes with more elements are not products that fit.
  static std::int64_t elements_of(const tensor::Shape& shape) {
    std::int64_t elements = 1;
    for (const std::int64_t extent : shape.dims()) {
      if (extent > graph::kMaxElements / elements) return -1;
      elements *= extent;
    }
    return elements;
  }

  /// All together stay within the bounds of one network.
  void count(const NetworkBlock& block, const JsonField& field) {
    parameters_ += block.parameters + block.state;
    macs_ += block.macs;
    if (parameters_ > graph::kMaxElements || macs_ > graph::kMaxMacs) {
      field.refuse("is one too many: the network has too many parameters or multiply-adds");
    }
  }

  void put(int tensor, const tensor::Shape& shape, const JsonField& field) {
    if (shape.elements() != network_.tensors[static_cast<std::size_t>(tensor)]) {
      field.refuse(fmt::format("gives {}, but tensor {} has {} elements", shape, tensor,
                               network_.tensors[static_cast<std::size_t>(tensor)]));
    }
    shapes_[static_cast<std::size_t>(tensor)] = shape;
  }

  const tensor::Shape& at(int tensor, const JsonField& field) {
    tensor::Shape& shape = shapes_[static_cast<std::size_t>(tensor)];
    if (shape.rank() != 0) return shape;
    if (!cut_) {
      field.refuse(fmt::format("reads tensor {}, which no block before it writes", tensor));
    }
    // Rows of others, which only messages write.
    shape = tensor::Shape{network_.tensors[static_cast<std::size_t>(tensor)]};
    return shape;
  }

  std::vector<tensor::Shape> all_at(const std::vector<int>& tensors, const JsonField& field) {
    std::vector<tensor::Shape> shapes;
    for (const int tensor : tensors) shapes.push_back(at(tensor, field));
    return shapes;
  }

  void layers(const NetworkBlock& block, const JsonField& field) {
    const std::vector<tensor::Shape> srcs = all_at(block.srcs, field);
    try {
      put(block.dst, graph::check_block(block.spec, srcs, "layers"), field);
      std::vector<bool> ids;
      for (const int tensor : block.srcs) {
        ids.push_back(tensor == 0 && network_.input_type == tensor::DType::i32);
      }
      graph::check_input_types(block.spec, ids, "layers");
      if (!graph::is_one_call(block.spec, static_cast<int>(srcs.size()))) {
        user_error(
            "layers: they are not computed together; a block of a plan is one layer, with a "
            "ReLU, a sum or an activation at most");
      }
    } catch (const UserError& error) {
      field.refuse(error.what());
    }
    std::vector<tensor::Shape> trained;
    std::int64_t parameters = 0;
    std::int64_t moved = 0;
    for (const ops::ParameterSpec& parameter : graph::block_parameters(block.spec, srcs)) {
      (parameter.trainable ? parameters : moved) += parameter.shape.elements();
      if (parameter.trainable) trained.push_back(parameter.shape);
    }
    const bool repeats = network_.repeats(static_cast<int>(&block - network_.blocks.data()));
    const std::int64_t sets = repeats ? 1 : block.state_sets;
    if (parameters != block.parameters || moved * sets != block.state) {
      field.refuse(fmt::format("has {} parameters and {} of state, but its layers {} and {}",
                               block.parameters, block.state, parameters, moved * sets));
    }
    const auto& owner =
        network_.blocks[static_cast<std::size_t>(block.owns_weights() ? 0 : block.weights_of)];
    if (repeats) {
      if (all_at(owner.srcs, field) != srcs) {
        field.refuse(fmt::format("repeats {} with tensors of other shapes", owner.name));
      }
    } else {
      tied(block, owner, trained, field);
    }
    trained_.push_back(std::move(trained));
  }

  /// Its layers name that of the owner, and have the same parameters.
  void tied(const NetworkBlock& block, const NetworkBlock& owner,
            const std::vector<tensor::Shape>& trained, const JsonField& field) const {
    std::string named;
    for (const graph::Node& node : block.spec.nodes) {
      if (!node.weights.empty()) named = node.weights;
    }
    const bool found = !block.owns_weights() &&
                       std::ranges::any_of(owner.spec.nodes, [&](const graph::Node& node) {
                         return graph::full_name(owner.spec, node) == named && node.weights.empty();
                       });
    if (found == named.empty() || found == block.owns_weights()) {
      field.refuse(fmt::format("uses the weights of {}, and its layers those of '{}'",
                               block.owns_weights() ? "no other block" : owner.name, named));
    }
    if (found && trained_[static_cast<std::size_t>(block.weights_of)] != trained) {
      field.refuse(fmt::format("uses the weights of {}, which have other shapes", owner.name));
    }
  }

  const Network& network_;
  bool cut_;
  const JsonField& field_;
  std::vector<tensor::Shape> shapes_;                ///< rank 0: not known
  std::vector<std::vector<tensor::Shape>> trained_;  ///< by block
  std::int64_t parameters_ = 0;
  std::int64_t macs_ = 0;
};

[[noreturn]] void refuse_model(const JsonField& field, const graph::ModelSpec& model,
                               const std::string& what) {
  field.refuse(fmt::format("is not of model '{}': {}", model.name, what));
}

}  // namespace

void check_layers(const Network& network, const JsonField& field) {
  LayerCheck(network, field).run();
}

void check_is_of_model(const Network& network, const graph::ModelSpec& model,
                       const JsonField& field) {
  if (network.input != model.input || network.input_type != model.input_type) {
    const auto text = [](const tensor::Shape& shape, tensor::DType type) {
      return fmt::format("{}{}", shape, type == tensor::DType::i32 ? " of int32" : "");
    };
    refuse_model(
        field, model,
        fmt::format("its input is {}, the model's {}", text(network.input, network.input_type),
                    text(model.input, model.input_type)));
  }
  const std::vector<NetworkBlock> blocks = make_network(model).blocks;
  std::vector<bool> found(blocks.size(), false);
  const bool cut = is_cut(network);
  for (const NetworkBlock& block : network.blocks) {
    if (block.whole >= std::ssize(blocks)) {
      refuse_model(field, model, fmt::format("it has no block {}", block.whole));
    }
    if (cut) {
      if (block.whole >= 0) found[static_cast<std::size_t>(block.whole)] = true;
      continue;
    }
    if (block.added || network.repeats(static_cast<int>(&block - network.blocks.data()))) continue;
    const auto same = std::ranges::find(blocks, block.name, &NetworkBlock::name);
    if (same == blocks.end() || same->spec != block.spec) {
      refuse_model(field, model, fmt::format("it has no such block '{}'", block.name));
    }
    found[static_cast<std::size_t>(same - blocks.begin())] = true;
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    // Pieces of a layer have its activation too.
    if (found[i] || (cut && blocks[i].parameters == 0)) continue;
    refuse_model(field, model,
                 fmt::format("its block '{}' is not among those of the plan", blocks[i].name));
  }
}

}  // namespace plait::plan
