// Sparse layers of a plan's network as JSON and back. A document does not hold their matrices: it
// names the model's by their hash, and of a piece of a layer that was cut, the rows and columns of
// the whole that are here. Whoever reads it brings the model. Inside this room only.
#pragma once

#include <map>

#include "plan/json_fields.hpp"
#include "plan/network.hpp"
#include "plan/whole_layers.hpp"

namespace plait::plan {

class SparseWriter {
 public:
  explicit SparseWriter(const Network& network);
  /// `dst` is the tensor that the layer's block writes.
  Json layer(const ops::SparseLinear& sparse, int dst);
  /// The lists of rows and columns that the pieces name, each of them once.
  Json take_lists() { return std::move(lists_); }

 private:
  int number_of(const std::vector<std::int32_t>& list);
  void note_rows(const NetworkBlock& block);
  const std::string& hash_of(const ops::ParameterSpec& whole);

  std::map<std::vector<std::int32_t>, int> numbers_;
  Json lists_ = Json::array();
  /// Per tensor: the rows of the whole that its elements are; -1: no element of a weight tells, so
  /// none is needed.
  std::map<int, std::vector<std::int32_t>> rows_;
  std::map<const void*, std::string> hashes_;  ///< by pattern
};

class SparseReader {
 public:
  /// Model null: documents with sparse layers are refused. It must outlive the reader.
  SparseReader(const graph::ModelSpec* model, const JsonField& lists);
  ops::SparseLinear layer(const JsonField& field);

 private:
  const std::vector<std::int32_t>& list(const JsonField& field, std::int64_t end);
  ops::SparseLinear piece(const JsonField& field);

  WholeLayers wholes_;
  std::vector<std::vector<std::int32_t>> lists_;
  std::int64_t work_ = 0;  ///< elements gone through
};

}  // namespace plait::plan
