// IncomingTensors: the tensors of a file by name, to be imported: every tensor of the model must be
// there with its shape, and none may be left over.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "checkpoint/safetensors.hpp"
#include "graph/parameters.hpp"

namespace plait::run {

class IncomingTensors {
 public:
  /// Both outlive this object. `source` (a file name) is in every UserError.
  IncomingTensors(const std::vector<checkpoint::NamedTensor>& tensors, const std::string& source);

  bool has(const std::string& name) const { return by_name_.contains(name); }
  /// UserError where it is missing, of another shape or not f32.
  const tensor::Tensor& take(const std::string& name, const tensor::Shape& shape);
  /// The values of a parameter; the places of a sparse one must be the model's.
  const tensor::Tensor& take_weight(const std::string& name, const ops::ParameterSpec& spec);
  /// Of a parameter that is another one's: it may be there too, with the same values. UserError
  /// where they differ.
  void take_copy(const std::string& name, const std::string& of);
  /// UserError where a tensor was not taken; further sets of running statistics may be left.
  void finish() const;

 private:
  const std::string& source_;
  std::map<std::string, const tensor::Tensor*> by_name_;
  std::vector<std::string> names_;
  std::set<std::string> untaken_;
};

}  // namespace plait::run
