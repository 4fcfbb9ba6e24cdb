#include "run/parameters.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/error.hpp"
#include "base/hash.hpp"
#include "base/nearest.hpp"
#include "model/shapes.hpp"

namespace plait {

namespace {

constexpr int kWeights = -1;  // instead of the index of an optimizer state

}  // namespace

ParameterStore::ParameterStore(const Chain& chain, std::uint64_t seed, int optimizer_states,
                               const std::vector<BlockNeeds>& needs)
    : chain_(chain), optimizer_states_(optimizer_states), blocks_(chain.size()) {
  for (std::size_t i = 0; i < chain.size(); ++i) {
    const BlockNeeds need = needs.empty() ? BlockNeeds{} : needs[i];
    const Shape size{chain.block(i).weights_size()};
    if (need.weights) blocks_[i].weights = Tensor(size);
    if (need.gradient) blocks_[i].gradient = Tensor(size);
    if (need.weights) blocks_[i].state = Tensor(Shape{chain.block(i).state_size()});
    for (int k = 0; need.optimizer && k < optimizer_states; ++k) {
      blocks_[i].optimizer[static_cast<std::size_t>(k)] = Tensor(size);
    }
  }
  for (const Entry& entry : entries()) {
    if (!needs.empty() && !needs[entry.block].weights) continue;
    write(entry, kWeights, initial_value(entry.parameter->spec, seed, entry.name));
  }
}

std::size_t ParameterStore::bytes() const {
  std::size_t total = 0;
  for (const BlockMemory& block : blocks_) {
    for (const Tensor* tensor : {&block.weights, &block.gradient, &block.state,
                                 block.optimizer.data(), block.optimizer.data() + 1}) {
      if (!tensor->empty()) total += tensor->bytes();
    }
  }
  return total;
}

std::vector<ParameterStore::Entry> ParameterStore::entries() const {
  std::vector<Entry> all;
  for (std::size_t i = 0; i < chain_.size(); ++i) {
    for (const BlockParameter& parameter : chain_.block(i).parameters()) {
      all.push_back({i, &parameter, chain_.block(i).name() + "." + parameter.name});
    }
  }
  return all;
}

Tensor ParameterStore::read(const Entry& entry, const BlockMemory& memory,
                            int optimizer_state) const {
  const Tensor& from = optimizer_state >= 0
                           ? memory.optimizer[static_cast<std::size_t>(optimizer_state)]
                       : entry.parameter->spec.trainable ? memory.weights
                                                         : memory.state;
  Tensor plain(entry.parameter->spec.shape);
  chain_.block(entry.block)
      .unpack_parameter(*entry.parameter, from.floats().data() + entry.parameter->offset,
                        plain.floats().data());
  return plain;
}

void ParameterStore::write(const Entry& entry, int optimizer_state, const Tensor& plain) {
  BlockMemory& memory = blocks_[entry.block];
  Tensor& to = optimizer_state >= 0 ? memory.optimizer[static_cast<std::size_t>(optimizer_state)]
               : entry.parameter->spec.trainable ? memory.weights
                                                 : memory.state;
  chain_.block(entry.block)
      .pack_parameter(*entry.parameter, plain.floats().data(),
                      to.floats().data() + entry.parameter->offset);
}

std::vector<NamedTensor> ParameterStore::export_weights() const {
  std::vector<NamedTensor> tensors;
  for (const Entry& entry : entries()) {
    tensors.push_back({entry.name, read(entry, blocks_[entry.block], kWeights)});
  }
  return tensors;
}

std::vector<NamedTensor> ParameterStore::export_optimizer() const {
  std::vector<NamedTensor> tensors;
  for (const Entry& entry : entries()) {
    for (int k = 0; k < optimizer_states_ && entry.parameter->spec.trainable; ++k) {
      tensors.push_back(
          {fmt::format("{}.{}", entry.name, k), read(entry, blocks_[entry.block], k)});
    }
  }
  return tensors;
}

namespace {

/// Tensors by name, with every refusal an import can make.
class Incoming {
 public:
  Incoming(const std::vector<NamedTensor>& tensors, const std::string& source) : source_(source) {
    for (const NamedTensor& tensor : tensors) {
      by_name_[tensor.name] = &tensor.tensor;
      names_.push_back(tensor.name);
    }
  }

  const Tensor& take(const std::string& name, const Shape& shape) {
    const auto found = by_name_.find(name);
    if (found == by_name_.end()) {
      user_error("{}: tensor '{}' is missing{}; is the file of another model?", source_, name,
                 did_you_mean(name, names_));
    }
    const Tensor& tensor = *found->second;
    if (tensor.shape() != shape || tensor.desc().dtype != DType::f32) {
      user_error("{}: tensor '{}' is {} {}, but the model needs f32 {}", source_, name,
                 name_of(tensor.desc().dtype), tensor.shape(), shape);
    }
    by_name_.erase(found);
    return tensor;
  }

  void finish() const {
    if (by_name_.empty()) return;
    user_error(
        "{}: {} tensor(s) are not in the model, the first is '{}'; is the file of another model?",
        source_, by_name_.size(), by_name_.begin()->first);
  }

 private:
  const std::string& source_;
  std::map<std::string, const Tensor*> by_name_;
  std::vector<std::string> names_;
};

}  // namespace

void ParameterStore::import_weights(const std::vector<NamedTensor>& tensors,
                                    const std::string& source) {
  Incoming incoming(tensors, source);
  for (const Entry& entry : entries()) {
    write(entry, kWeights, incoming.take(entry.name, entry.parameter->spec.shape));
  }
  incoming.finish();
}

void ParameterStore::import_optimizer(const std::vector<NamedTensor>& tensors,
                                      const std::string& source) {
  Incoming incoming(tensors, source);
  for (const Entry& entry : entries()) {
    for (int k = 0; k < optimizer_states_ && entry.parameter->spec.trainable; ++k) {
      write(entry, k,
            incoming.take(fmt::format("{}.{}", entry.name, k), entry.parameter->spec.shape));
    }
  }
  incoming.finish();
}

std::string ParameterStore::hash() const {
  Hash hash;
  for (const Entry& entry : entries()) {
    const Tensor plain = read(entry, blocks_[entry.block], kWeights);
    hash.add(entry.name);
    hash.add(plain.data(), plain.bytes());
  }
  return hash.hex();
}

std::string ParameterStore::non_finite_parameter() const {
  for (const Entry& entry : entries()) {
    const Tensor plain = read(entry, blocks_[entry.block], kWeights);
    if (!std::ranges::all_of(plain.floats(), [](float x) { return std::isfinite(x); })) {
      return entry.name;
    }
  }
  return "";
}

void check_weights(const ModelSpec& model, const std::vector<NamedTensor>& tensors,
                   const std::string& source) {
  Incoming incoming(tensors, source);
  const std::vector<Shape> borders = border_shapes(model);
  for (std::size_t i = 0; i < model.blocks.size(); ++i) {
    for (const ParameterSpec& parameter : block_parameters(model.blocks[i], borders[i])) {
      incoming.take(model.blocks[i].name + "." + parameter.name, parameter.shape);
    }
  }
  incoming.finish();
}

}  // namespace plait
