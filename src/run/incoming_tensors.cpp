// The refusals of an import, each with the file and the tensor.
#include "run/incoming_tensors.hpp"

#include <cstring>

#include "base/error.hpp"
#include "base/nearest.hpp"
#include "plan/network.hpp"
#include "run/sparse_indices.hpp"

namespace plait::run {

IncomingTensors::IncomingTensors(const std::vector<checkpoint::NamedTensor>& tensors,
                                 const std::string& source)
    : source_(source) {
  for (const checkpoint::NamedTensor& tensor : tensors) {
    by_name_[tensor.name] = &tensor.tensor;
    names_.push_back(tensor.name);
    if (!plan::is_of_another_set(tensor.name)) untaken_.insert(tensor.name);
  }
}

const tensor::Tensor& IncomingTensors::take(const std::string& name, const tensor::Shape& shape) {
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) {
    user_error("{}: tensor '{}' is missing{}; is the file of another model?", source_, name,
               did_you_mean(name, names_));
  }
  const tensor::Tensor& tensor = *found->second;
  if (tensor.shape() != shape || tensor.desc().dtype != tensor::DType::f32) {
    user_error("{}: tensor '{}' is {} {}, but the model needs f32 {}", source_, name,
               tensor::name_of(tensor.desc().dtype), tensor.shape(), shape);
  }
  untaken_.erase(name);
  return tensor;
}

const tensor::Tensor& IncomingTensors::take_weight(const std::string& name,
                                                   const ops::ParameterSpec& spec) {
  const tensor::Tensor& values = take(name, spec.shape);
  if (spec.pattern == nullptr) return values;
  for (const checkpoint::NamedTensor& wanted : index_tensors(name, *spec.pattern)) {
    const auto found = by_name_.find(wanted.name);
    if (found == by_name_.end()) continue;  // values alone, by some other tool
    if (!same_indices(*found->second, wanted.tensor)) {
      user_error(
          "{}: '{}' has its elements elsewhere than the model; is the "
          "file of another one?",
          source_, wanted.name);
    }
    untaken_.erase(wanted.name);
  }
  return values;
}

void IncomingTensors::take_copy(const std::string& name, const std::string& of) {
  const auto copy = by_name_.find(name);
  const auto owner = by_name_.find(of);
  if (copy == by_name_.end() || owner == by_name_.end()) return;
  const tensor::Tensor& a = *copy->second;
  const tensor::Tensor& b = *owner->second;
  const bool same = a.shape() == b.shape() && a.desc().dtype == b.desc().dtype &&
                    std::memcmp(a.data(), b.data(), a.bytes()) == 0;
  if (!same) {
    user_error("{}: tensors '{}' and '{}' differ, but the model has one for both (tied weights)",
               source_, of, name);
  }
  untaken_.erase(name);
}

void IncomingTensors::finish() const {
  if (untaken_.empty()) return;
  user_error(
      "{}: {} tensor(s) are not in the model, the first is '{}'; is "
      "the file of another model?",
      source_, untaken_.size(), *untaken_.begin());
}

}  // namespace plait::run
