// A model as a network, shapes of its tensors, its hash, and names of further sets of running
// statistics.
#include "plan/network.hpp"

#include <fmt/format.h>

#include <numeric>
#include <unordered_map>

#include "base/hash.hpp"
#include "graph/fuse.hpp"
#include "graph/fused_steps.hpp"
#include "graph/macs.hpp"
#include "graph/model_file.hpp"
#include "graph/parameters.hpp"
#include "graph/shapes.hpp"

namespace plait::plan {

bool NetworkBlock::is_join() const {
  return added && name == spec.name && spec.nodes.size() == 1 &&
         ops::sum_of(spec.nodes.front().layer).has_value();
}

bool NetworkBlock::is_difference() const {
  return is_join() && ops::sum_of(spec.nodes.front().layer)->subtracted >= 0;
}

std::int64_t Network::parameters() const {
  std::int64_t sum = 0;
  for (const NetworkBlock& block : blocks) sum += block.owns_weights() ? block.parameters : 0;
  return sum;
}

bool Network::shares_weights(int block) const {
  if (is_tied(block)) return true;
  for (int user = block + 1; user < size(); ++user) {
    if (owner_of(user) == block && !repeats(user)) return true;
  }
  return false;
}

std::int64_t Network::macs() const {
  std::int64_t sum = 0;
  for (const NetworkBlock& block : blocks) sum += block.macs;
  return sum;
}

namespace {

/// What backward keeps or leaves inside a fine block. A fused ReLU or sum leaves nothing.
std::int64_t inner_elements(const graph::BlockSpec& spec, const graph::BlockCost& cost) {
  const bool one_call = graph::fused_steps(spec, 1).size() == 1;
  return one_call ? 0 : cost.activation_elements - cost.dst_elements;
}

}  // namespace

Network make_network(const graph::ModelSpec& model) {
  Network network{.name = model.name,
                  .blocks = {},
                  .tensors = {},
                  .input = model.input,
                  .input_type = model.input_type};
  std::unordered_map<std::string, int> owners;  // of weights, by layer
  network.tensors.push_back(model.input.elements());
  std::vector<tensor::Shape> shapes{model.input};
  for (graph::FineBlock& fine : graph::fuse(model)) {
    NetworkBlock block{.name = std::move(fine.name),
                       .dst = static_cast<int>(network.tensors.size()),
                       .spec = std::move(fine.spec)};
    for (const int read : fine.reads) block.srcs.push_back(read + 1);
    for (const graph::Node& node : block.spec.nodes) {
      owners.emplace(graph::full_name(block.spec, node), network.size());
      if (!node.weights.empty()) block.weights_of = owners.at(node.weights);
    }
    const std::vector<tensor::Shape> srcs = src_shapes(block, shapes);
    const graph::BlockCost cost = graph::block_cost(block.spec, srcs);
    block.macs = cost.macs;
    block.inner_elements = inner_elements(block.spec, cost);
    for (const ops::ParameterSpec& parameter : graph::block_parameters(block.spec, srcs)) {
      (parameter.trainable ? block.parameters : block.state) += parameter.shape.elements();
    }
    shapes.push_back(graph::node_shapes(block.spec, srcs).back());
    network.tensors.push_back(shapes.back().elements());
    network.blocks.push_back(std::move(block));
  }
  complete(network);
  return network;
}

namespace {

graph::BlockTraits traits_in(const NetworkBlock& block, const std::vector<tensor::Shape>& shapes) {
  // Only its costs are known: as of a convolution, unless something lies inside.
  if (block.spec.nodes.empty()) return {.weights_read_pending = block.inner_elements > 0};
  return graph::traits_of(block.spec, src_shapes(block, shapes));
}

}  // namespace

void complete(Network& network) {
  const bool known = std::ranges::any_of(
      network.blocks, [](const NetworkBlock& one) { return !one.spec.nodes.empty(); });
  const std::vector<tensor::Shape> shapes =
      known ? tensor_shapes(network) : std::vector<tensor::Shape>{};
  for (NetworkBlock& block : network.blocks) block.traits = traits_in(block, shapes);
  network.last_readers = last_readers(network);
  network.trained = trained_tensors(network);
}

std::vector<bool> trained_tensors(const Network& network) {
  std::vector<bool> trained(network.tensors.size(), true);
  trained.front() = false;
  bool usual = true;
  for (const NetworkBlock& block : network.blocks) {
    const bool depends = block.parameters > 0 || std::ranges::any_of(block.srcs, [&](int tensor) {
                           return trained[static_cast<std::size_t>(tensor)];
                         });
    trained[static_cast<std::size_t>(block.dst)] = depends;
    usual = usual && depends;
  }
  return usual ? std::vector<bool>{} : trained;
}

bool begins_module(const Network& network, int block) {
  const NetworkBlock& here = network.blocks[static_cast<std::size_t>(block)];
  if (block == 0 || here.spec.nodes.empty()) return true;
  return network.blocks[static_cast<std::size_t>(block) - 1].spec.name != here.spec.name;
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
  std::vector<tensor::Shape> shapes;
  for (const std::int64_t elements : network.tensors) shapes.push_back({elements});
  shapes.front() = network.input;
  for (const NetworkBlock& block : network.blocks) {
    const std::vector<tensor::Shape> srcs = src_shapes(block, shapes);
    shapes[static_cast<std::size_t>(block.dst)] = graph::node_shapes(block.spec, srcs).back();
  }
  return shapes;
}

bool is_cut(const Network& network) {
  const auto is_part = [](const graph::Node& node) {
    const auto* sparse = std::get_if<ops::SparseLinear>(&node.layer);
    return sparse != nullptr && sparse->piece != nullptr;
  };
  return std::ranges::any_of(network.blocks, [&](const NetworkBlock& block) {
    return std::ranges::any_of(block.spec.nodes, is_part);
  });
}

std::vector<int> alike_tensors(const Network& network) {
  std::vector<int> alike(network.tensors.size());
  std::iota(alike.begin(), alike.end(), 0);
  const auto find = [&](int tensor) {
    while (alike[static_cast<std::size_t>(tensor)] != tensor) {
      tensor = alike[static_cast<std::size_t>(tensor)];
    }
    return tensor;
  };
  for (const NetworkBlock& block : network.blocks) {
    if (!block.is_join()) continue;
    for (const int tensor : block.srcs) {
      alike[static_cast<std::size_t>(find(tensor))] = find(block.dst);
    }
  }
  for (std::size_t i = 0; i < alike.size(); ++i) alike[i] = find(static_cast<int>(i));
  return alike;
}

std::string network_hash(const Network& network) {
  Hash hash;
  const auto add_number = [&](std::int64_t number) { hash.add(&number, sizeof number); };
  const auto add_text = [&](const std::string& text) {
    add_number(static_cast<std::int64_t>(text.size()));
    hash.add(text);
  };
  graph::ModelSpec layers{
      .name = network.name, .input = network.input, .blocks = {}, .input_type = network.input_type};
  add_number(static_cast<std::int64_t>(network.tensors.size()));
  for (std::int64_t elements : network.tensors) add_number(elements);
  for (const NetworkBlock& block : network.blocks) {
    add_text(block.name);
    for (const int tensor : block.srcs) add_number(tensor);
    for (std::int64_t number : {std::int64_t{block.dst}, block.parameters, block.state, block.macs,
                                block.inner_elements}) {
      add_number(number);
    }
    if (!block.owns_weights()) add_number(block.weights_of);
    if (block.state_sets > 1 || block.state_set > 0) {
      for (const int number : {block.state_sets, block.state_set}) add_number(number);
    }
    layers.blocks.push_back(block.spec);
  }
  add_text(graph::write_model(layers));
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
