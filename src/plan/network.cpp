// A model as a network, shapes of its tensors, its hash, and names of further sets of running
// statistics.
#include "plan/network.hpp"

#include <fmt/format.h>

#include "base/hash.hpp"
#include "model/macs.hpp"
#include "model/model_file.hpp"
#include "model/parameters.hpp"
#include "model/shapes.hpp"

namespace plait::plan {

std::int64_t Network::parameters() const {
  std::int64_t sum = 0;
  for (const NetworkBlock& block : blocks) sum += block.repeats < 0 ? block.parameters : 0;
  return sum;
}

std::int64_t Network::macs() const {
  std::int64_t sum = 0;
  for (const NetworkBlock& block : blocks) sum += block.macs;
  return sum;
}

Network make_network(const model::ModelSpec& model) {
  const std::vector<tensor::Shape> borders = model::border_shapes(model);
  const std::vector<model::BlockCost> costs = model::block_costs(model);
  Network network{.name = model.name, .blocks = {}, .tensors = {}, .input = model.input};
  for (const tensor::Shape& border : borders) network.tensors.push_back(border.elements());
  for (std::size_t i = 0; i < model.blocks.size(); ++i) {
    NetworkBlock block{.name = model.blocks[i].name,
                       .dst = static_cast<int>(i) + 1,
                       .macs = costs[i].macs,
                       .inner_elements = costs[i].activation_elements - costs[i].dst_elements,
                       .spec = model.blocks[i]};
    for (const int read : model::inputs_of(model, i)) block.srcs.push_back(read + 1);
    block.spec.inputs.clear();  // srcs says it
    for (const ops::ParameterSpec& parameter :
         model::block_parameters(model.blocks[i], model::input_shapes(model, borders, i))) {
      (parameter.trainable ? block.parameters : block.state) += parameter.shape.elements();
    }
    network.blocks.push_back(std::move(block));
  }
  network.last_readers = last_readers(network);
  return network;
}

bool is_chain(const Network& network) {
  for (int b = 0; b < network.size(); ++b) {
    const NetworkBlock& block = network.blocks[static_cast<std::size_t>(b)];
    if (block.srcs != std::vector{b} || block.dst != b + 1) return false;
  }
  return true;
}

std::vector<int> last_readers(const Network& network) {
  std::vector<int> last(network.tensors.size(), -1);
  bool several = false;
  for (int b = 0; b < network.size(); ++b) {
    const NetworkBlock& block = network.blocks[static_cast<std::size_t>(b)];
    if (block.joins()) continue;
    for (const int tensor : block.srcs) {
      if (tensor == block.dst) continue;
      int& reader = last[static_cast<std::size_t>(tensor)];
      several = several || (reader >= 0 && tensor != 0);
      reader = b;
    }
  }
  return several ? last : std::vector<int>{};
}

std::vector<tensor::Shape> src_shapes(const NetworkBlock& block,
                                      const std::vector<tensor::Shape>& tensors) {
  std::vector<tensor::Shape> shapes;
  for (const int tensor : block.srcs) shapes.push_back(tensors[static_cast<std::size_t>(tensor)]);
  return shapes;
}

std::vector<tensor::Shape> tensor_shapes(const Network& network) {
  std::vector<tensor::Shape> shapes(network.tensors.size());
  shapes.front() = network.input;
  for (const NetworkBlock& block : network.blocks) {
    const std::vector<tensor::Shape> srcs = src_shapes(block, shapes);
    shapes[static_cast<std::size_t>(block.dst)] =
        block.joins() ? srcs.front() : model::node_shapes(block.spec, srcs).back();
  }
  return shapes;
}

std::string network_hash(const Network& network) {
  Hash hash;
  const auto add_number = [&](std::int64_t number) { hash.add(&number, sizeof number); };
  const auto add_text = [&](const std::string& text) {
    add_number(static_cast<std::int64_t>(text.size()));
    hash.add(text);
  };
  model::ModelSpec layers{.name = network.name, .input = network.input, .blocks = {}};
  add_number(static_cast<std::int64_t>(network.tensors.size()));
  for (std::int64_t elements : network.tensors) add_number(elements);
  for (const NetworkBlock& block : network.blocks) {
    add_text(block.name);
    for (const int tensor : block.srcs) add_number(tensor);
    for (std::int64_t number : {std::int64_t{block.dst}, block.parameters, block.state, block.macs,
                                block.inner_elements}) {
      add_number(number);
    }
    if (block.joins() || block.repeats >= 0) {
      for (const int number : {static_cast<int>(block.join), block.repeats}) add_number(number);
    }
    if (block.state_sets > 1 || block.state_set > 0) {
      for (const int number : {block.state_sets, block.state_set}) add_number(number);
    }
    layers.blocks.push_back(block.spec);
  }
  add_text(model::write_model(layers));
  return hash.hex();
}

namespace {
constexpr char kSetMark = '#';  // in no name of a model
}

std::string state_name(const std::string& block, int set) {
  return set == 0 ? block : fmt::format("{}{}{}", block, kSetMark, set);
}

bool is_of_another_set(const std::string& name) { return name.find(kSetMark) != std::string::npos; }

}  // namespace plait::plan
