// The linear layers of a model by name and by the hash of their matrices: what documents that hold
// no matrices refer to. Inside this room only.
#pragma once

#include <map>

#include "graph/parameters.hpp"
#include "plan/json_fields.hpp"

namespace plait::plan {

/// Of places and values (null: none): equal matrices, equal text.
std::string matrix_hash(const tensor::SparsePattern& pattern, const std::vector<float>* values);

struct WholeLayer {
  std::string hash;  ///< of its matrix; of a dense layer its size
  std::shared_ptr<const tensor::SparsePattern> pattern;  ///< dense layers have all elements
  ops::ParameterSpec weight;
  std::optional<ops::ParameterSpec> bias;
};

/// "10x784", as a dense layer's matrix is called.
std::string dense_hash(const tensor::Shape& weight);

class WholeLayers {
 public:
  /// Null: everything that is asked for is refused.
  explicit WholeLayers(const graph::ModelSpec* model) : model_(model) {}
  /// `field` is a layer's full name, "fc1" or "block1.fc1".
  const WholeLayer& named(const JsonField& field);
  /// `field` is the hash of a sparse layer's matrix.
  tensor::SparseMatrix matrix(const JsonField& field);

 private:
  const graph::ModelSpec& model_for(const JsonField& field) const;
  WholeLayer make(const graph::Node& node, const tensor::Shape& src, const JsonField& field);

  const graph::ModelSpec* model_;
  std::map<std::string, WholeLayer> known_;
  std::map<std::string, tensor::SparseMatrix> matrices_;  ///< by hash; made when first wanted
  std::int64_t dense_ = 0;                                ///< elements of dense layers among them
};

}  // namespace plait::plan
