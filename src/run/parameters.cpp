// Allocation and initial values, export by name (also of parts of cut layers), hashes, and the
// search for non-finite values.
#include "run/parameters.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/error.hpp"
#include "base/hash.hpp"
#include "run/sparse_indices.hpp"

namespace plait::run {

ParameterStore::ParameterStore(const Chain& chain, std::uint64_t seed, int optimizer_states,
                               const std::vector<BlockNeeds>& needs)
    : chain_(chain), optimizer_states_(optimizer_states), blocks_(chain.size()) {
  for (std::size_t i = 0; i < chain.size(); ++i) {
    const plan::Network& network = chain.network();
    const auto index = static_cast<int>(i);
    if (network.repeats(index)) continue;
    const BlockNeeds need = needs.empty() ? BlockNeeds{} : needs[i];
    const auto owner = static_cast<std::size_t>(network.owner_of(index));
    tensor::Shape size{chain.block(owner).weights_size()};
    if (need.gradient) blocks_[i].gradient = tensor::Tensor(size);
    const int sets = network.blocks[i].state_sets;
    if (need.weights)
      blocks_[i].state = tensor::Tensor(tensor::Shape{chain.block(i).state_size() * sets});
    if (owner != i) size = tensor::Shape{0};  // no weights of its own
    if (need.weights) blocks_[i].weights = tensor::Tensor(size);
    for (int k = 0; (need.optimizer || owner != i) && k < optimizer_states; ++k) {
      blocks_[i].optimizer[static_cast<std::size_t>(k)] = tensor::Tensor(size);
    }
  }
  std::vector<Entry> here = entries();
  std::erase_if(here,
                [&](const Entry& entry) { return !needs.empty() && !needs[entry.block].weights; });
  fill(here, kWeights, [&](const std::string& name, const ops::ParameterSpec& spec) {
    return graph::initial_value(spec, seed, name);
  });
}

float* ParameterStore::state(std::size_t i) {
  const plan::Network& network = chain_.network();
  const int set = network.blocks[i].state_set;
  return blocks_[static_cast<std::size_t>(network.home_of(static_cast<int>(i)))]
             .state.floats()
             .data() +
         set * chain_.block(i).state_size();
}

std::size_t ParameterStore::bytes() const {
  std::size_t total = 0;
  for (const BlockMemory& block : blocks_) {
    for (const tensor::Tensor* tensor : {&block.weights, &block.gradient, &block.state}) {
      if (!tensor->empty()) total += tensor->bytes();
    }
    for (const tensor::Tensor& tensor : block.optimizer) {
      if (!tensor.empty()) total += tensor.bytes();
    }
  }
  return total;
}

std::vector<ParameterStore::Entry> ParameterStore::entries() const {
  std::vector<Entry> all;
  const auto& blocks = chain_.network().blocks;
  const auto repeats = [&](std::size_t i) { return chain_.network().repeats(static_cast<int>(i)); };
  const auto add = [&](std::size_t i, int set) {
    const std::string prefix = plan::state_name(chain_.block(i).name(), set) + ".";
    for (const kernels::BlockParameter& parameter : chain_.block(i).parameters()) {
      if ((set > 0 || !blocks[i].owns_weights()) && parameter.spec.trainable) continue;
      all.push_back({i, &parameter, prefix + parameter.name, set});
    }
  };
  // The parts of a block of the model come together, set by set.
  for (std::size_t first = 0; first < chain_.size();) {
    std::size_t last = first;
    int sets = 0;
    while (last < chain_.size() && chain_.block(last).name() == chain_.block(first).name()) {
      if (!repeats(last)) sets = std::max(sets, blocks[last].state_sets);
      ++last;
    }
    for (int set = 0; set < sets; ++set) {
      for (std::size_t i = first; i < last; ++i) {
        if (!repeats(i) && set < blocks[i].state_sets) add(i, set);
      }
    }
    first = last;
  }
  return all;
}

std::int64_t ParameterStore::offset_of(const Entry& entry) const {
  return entry.parameter->offset + entry.set * chain_.block(entry.block).state_size();
}

tensor::Tensor ParameterStore::read(const Entry& entry, const BlockMemory& memory,
                                    int optimizer_state) const {
  const tensor::Tensor& from = optimizer_state >= 0
                                   ? memory.optimizer[static_cast<std::size_t>(optimizer_state)]
                               : entry.parameter->spec.trainable ? memory.weights
                                                                 : memory.state;
  tensor::Tensor plain(entry.parameter->spec.shape);
  chain_.block(entry.block)
      .unpack_parameter(*entry.parameter, from.floats().data() + offset_of(entry),
                        plain.floats().data());
  return plain;
}

void ParameterStore::write(const Entry& entry, int optimizer_state, const tensor::Tensor& plain) {
  BlockMemory& memory = blocks_[entry.block];
  tensor::Tensor& to = optimizer_state >= 0
                           ? memory.optimizer[static_cast<std::size_t>(optimizer_state)]
                       : entry.parameter->spec.trainable ? memory.weights
                                                         : memory.state;
  chain_.block(entry.block)
      .pack_parameter(*entry.parameter, plain.floats().data(),
                      to.floats().data() + offset_of(entry));
}

const std::string& ParameterStore::Entry::full_name() const {
  const auto& part = parameter->spec.part;
  return part == nullptr ? name : part->name;
}

const ops::ParameterSpec& ParameterStore::Entry::whole() const {
  const auto& part = parameter->spec.part;
  return part == nullptr ? parameter->spec : part->whole;
}

std::vector<ParameterStore::Whole> ParameterStore::wholes(int optimizer_state) const {
  std::vector<Whole> all;
  std::map<std::string_view, std::size_t> known;
  for (const Entry& entry : entries()) {
    if (optimizer_state >= 0 && !entry.parameter->spec.trainable) continue;
    tensor::Tensor plain = read(entry, blocks_[entry.block], optimizer_state);
    const auto& part = entry.parameter->spec.part;
    if (part == nullptr) {
      all.push_back({&entry.parameter->spec, {entry.name, std::move(plain)}});
      continue;
    }
    const auto [found, is_new] = known.try_emplace(part->name, all.size());
    if (is_new) all.push_back({&part->whole, {part->name, tensor::Tensor(part->whole.shape)}});
    const std::span<float> whole = all[found->second].tensor.tensor.floats();
    const std::span<const float> values = plain.floats();
    for (std::size_t i = 0; i < part->positions.size(); ++i) {
      whole[static_cast<std::size_t>(part->positions[i])] = values[i];
    }
  }
  return all;
}

void ParameterStore::fill(const std::vector<Entry>& entries, int optimizer_state,
                          const WholeValue& value) {
  struct Shared {
    tensor::Tensor tensor;
    int readers = 0;  ///< still to come; without any, the whole is let go
  };
  std::map<std::string_view, Shared> wholes;
  for (const Entry& entry : entries) {
    const auto& part = entry.parameter->spec.part;
    if (part != nullptr) ++wholes[part->name].readers;
  }
  for (const Entry& entry : entries) {
    const auto& part = entry.parameter->spec.part;
    if (part == nullptr) {
      write(entry, optimizer_state, value(entry.name, entry.parameter->spec));
      continue;
    }
    Shared& whole = wholes.at(part->name);
    if (whole.tensor.empty()) whole.tensor = value(part->name, part->whole);
    tensor::Tensor plain(entry.parameter->spec.shape);
    for (std::size_t i = 0; i < part->positions.size(); ++i) {
      plain.floats()[i] = whole.tensor.floats()[static_cast<std::size_t>(part->positions[i])];
    }
    write(entry, optimizer_state, plain);
    if (--whole.readers == 0) whole.tensor = tensor::Tensor();
  }
}

std::vector<checkpoint::NamedTensor> ParameterStore::export_weights() const {
  std::vector<checkpoint::NamedTensor> tensors;
  for (Whole& whole : wholes(kWeights)) {
    const std::string name = whole.tensor.name;
    tensors.push_back(std::move(whole.tensor));
    if (whole.spec->pattern == nullptr) continue;
    for (checkpoint::NamedTensor& indices : index_tensors(name, *whole.spec->pattern)) {
      tensors.push_back(std::move(indices));
    }
  }
  return tensors;
}

std::vector<checkpoint::NamedTensor> ParameterStore::export_optimizer() const {
  std::vector<checkpoint::NamedTensor> tensors;
  for (int k = 0; k < optimizer_states_; ++k) {
    for (Whole& whole : wholes(k)) {
      tensors.push_back(
          {fmt::format("{}.{}", whole.tensor.name, k), std::move(whole.tensor.tensor)});
    }
  }
  return tensors;
}

std::string ParameterStore::hash() const {
  Hash hash;
  for (const Whole& whole : wholes(kWeights)) {
    hash.add(whole.tensor.name);
    hash.add(whole.tensor.tensor.data(), whole.tensor.tensor.bytes());
  }
  return hash.hex();
}

std::string ParameterStore::non_finite_parameter() const {
  for (const Entry& entry : entries()) {
    const tensor::Tensor plain = read(entry, blocks_[entry.block], kWeights);
    if (!std::ranges::all_of(plain.floats(), [](float x) { return std::isfinite(x); })) {
      return entry.name;
    }
  }
  return "";
}

}  // namespace plait::run
