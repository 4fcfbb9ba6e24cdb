// Named tensors into a ParameterStore, and checks of named tensors against a network.
#include <algorithm>
#include <cmath>
#include <map>

#include "graph/shapes.hpp"
#include "run/incoming_tensors.hpp"
#include "run/parameters.hpp"

namespace plait::run {

namespace {

/// A parameter that is another layer's: some files have it under both names.
struct SharedName {
  std::string user;
  std::string owner;
};

std::vector<SharedName> shared_names(const plan::Network& network) {
  std::vector<SharedName> names;
  if (plan::is_cut(network)) return names;
  const std::vector<tensor::Shape> shapes = plan::tensor_shapes(network);
  const auto trained = [&](int index) {
    const plan::NetworkBlock& block = network.blocks[static_cast<std::size_t>(index)];
    std::vector<std::string> list;
    for (const ops::ParameterSpec& parameter :
         graph::block_parameters(block.spec, plan::src_shapes(block, shapes))) {
      if (parameter.trainable) list.push_back(block.spec.name + "." + parameter.name);
    }
    return list;
  };
  for (int i = 0; i < network.size(); ++i) {
    if (!network.is_tied(i)) continue;
    const std::vector<std::string> owner = trained(network.owner_of(i));
    const std::vector<std::string> user = trained(i);
    for (std::size_t k = 0; k < user.size(); ++k) names.push_back({user[k], owner[k]});
  }
  return names;
}

void take_shared(const plan::Network& network, IncomingTensors& incoming) {
  for (const SharedName& name : shared_names(network)) incoming.take_copy(name.user, name.owner);
}

}  // namespace

void ParameterStore::import_weights(const std::vector<checkpoint::NamedTensor>& tensors,
                                    const std::string& source) {
  IncomingTensors incoming(tensors, source);
  std::vector<Entry> wanted = entries();
  if (!has_added_weights(chain_.network(), tensors)) {
    std::erase_if(wanted,
                  [&](const Entry& entry) { return chain_.network().blocks[entry.block].added; });
  }
  take_shared(chain_.network(), incoming);
  std::map<std::string, std::string> own;  // of the statistics of another set: the model's
  for (const Entry& entry : wanted) {
    if (entry.set == 0) continue;
    own[entry.name] = chain_.block(entry.block).name() + "." + entry.parameter->name;
  }
  fill(wanted, kWeights, [&](const std::string& name, const ops::ParameterSpec& spec) {
    const auto other = own.find(name);
    const bool known = other == own.end() || incoming.has(name);
    return incoming.take_weight(known ? name : other->second, spec);
  });
  incoming.finish();
}

void ParameterStore::import_optimizer(const std::vector<checkpoint::NamedTensor>& tensors,
                                      const std::string& source) {
  IncomingTensors incoming(tensors, source);
  std::vector<Entry> trained = entries();
  std::erase_if(trained, [](const Entry& entry) { return !entry.parameter->spec.trainable; });
  for (int k = 0; k < optimizer_states_; ++k) {
    fill(trained, k, [&](const std::string& name, const ops::ParameterSpec& spec) {
      return incoming.take(fmt::format("{}.{}", name, k), spec.shape);
    });
  }
  incoming.finish();
}

bool has_added_weights(const plan::Network& network,
                       const std::vector<checkpoint::NamedTensor>& tensors) {
  std::vector<std::string> names;
  for (const checkpoint::NamedTensor& tensor : tensors) names.push_back(tensor.name);
  std::ranges::sort(names);
  return std::ranges::any_of(network.blocks, [&](const plan::NetworkBlock& block) {
    const std::string prefix = block.spec.name + ".";
    const auto first = std::ranges::lower_bound(names, prefix);
    return block.added && first != names.end() && first->starts_with(prefix);
  });
}

std::string non_finite_tensor(const std::vector<checkpoint::NamedTensor>& tensors) {
  for (const auto& [name, tensor] : tensors) {
    if (tensor.empty() || tensor.desc().dtype != tensor::DType::f32) continue;
    const std::span<const float> values = tensor.floats();
    const auto wrong = std::ranges::find_if_not(values, [](float x) { return std::isfinite(x); });
    if (wrong == values.end()) continue;
    return fmt::format("tensor '{}' holds {} (element {} of {})", name,
                       std::isnan(*wrong) ? "nan" : "inf", wrong - values.begin() + 1,
                       values.size());
  }
  return "";
}

void check_weights(const plan::Network& network,
                   const std::vector<checkpoint::NamedTensor>& tensors, const std::string& source) {
  IncomingTensors incoming(tensors, source);
  const std::vector<tensor::Shape> shapes = plan::tensor_shapes(network);
  const bool with_added = has_added_weights(network, tensors);
  take_shared(network, incoming);
  for (int i = 0; i < network.size(); ++i) {
    const plan::NetworkBlock& block = network.blocks[static_cast<std::size_t>(i)];
    if (network.repeats(i) || (block.added && !with_added)) continue;
    for (const ops::ParameterSpec& parameter :
         graph::own_parameters(block.spec, plan::src_shapes(block, shapes))) {
      incoming.take_weight(block.spec.name + "." + parameter.name, parameter);
    }
  }
  incoming.finish();
}

}  // namespace plait::run
