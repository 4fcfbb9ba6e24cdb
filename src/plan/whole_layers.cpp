// The sparse layers of a model that the pieces of a plan are cut from.
#include "plan/whole_layers.hpp"

#include <fmt/format.h>

#include "base/hash.hpp"
#include "graph/shapes.hpp"

namespace plait::plan {

namespace {

constexpr std::int64_t kMostDenseElements = 8'000'000;  ///< together, as the cut allows

std::shared_ptr<const tensor::SparsePattern> all_elements(std::int64_t rows, std::int64_t columns) {
  tensor::SparsePattern pattern{.rows = rows, .columns = columns, .row_begin = {0}, .column = {}};
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < columns; ++column) {
      pattern.column.push_back(static_cast<std::int32_t>(column));
    }
    pattern.row_begin.push_back(pattern.size());
  }
  return std::make_shared<const tensor::SparsePattern>(std::move(pattern));
}

}  // namespace

std::string matrix_hash(const tensor::SparsePattern& pattern, const std::vector<float>* values) {
  Hash hash;
  hash.add(tensor::pattern_hash(pattern));
  if (values != nullptr) hash.add(values->data(), values->size() * sizeof(float));
  return hash.hex();
}

std::string dense_hash(const tensor::Shape& weight) { return weight.to_string(); }

const graph::ModelSpec& WholeLayers::model_for(const JsonField& field) const {
  if (model_ == nullptr) {
    field.refuse("names a matrix of the model, without which this plan cannot be read");
  }
  return *model_;
}

WholeLayer WholeLayers::make(const graph::Node& node, const tensor::Shape& src,
                             const JsonField& field) {
  WholeLayer whole;
  const tensor::Shape flat{src.elements()};
  if (const auto* sparse = std::get_if<ops::SparseLinear>(&node.layer)) {
    whole.pattern = sparse->pattern;
    whole.hash = matrix_hash(*sparse->pattern, sparse->values.get());
  } else if (const auto* linear = std::get_if<ops::Linear>(&node.layer)) {
    if (linear->out_features > (kMostDenseElements - dense_) / src.elements()) {
      field.refuse("is a dense layer with too many elements to be cut by rows");
    }
    dense_ += linear->out_features * src.elements();
    whole.pattern = all_elements(linear->out_features, src.elements());
    whole.hash = dense_hash({linear->out_features, src.elements()});
  } else {
    field.refuse("is a layer of the model without a matrix");
  }
  std::vector<ops::ParameterSpec> parameters = ops::parameters_of(node.layer, flat);
  whole.weight = std::move(parameters[0]);
  if (parameters.size() > 1) whole.bias = std::move(parameters[1]);
  return whole;
}

const WholeLayer& WholeLayers::named(const JsonField& field) {
  const std::string name = field.text();
  if (const auto found = known_.find(name); found != known_.end()) return found->second;
  const std::vector<tensor::Shape> borders = graph::border_shapes(model_for(field));
  for (std::size_t i = 0; i < model_->blocks.size(); ++i) {
    const graph::BlockSpec& block = model_->blocks[i];
    const std::vector<tensor::Shape> srcs = graph::input_shapes(*model_, borders, i);
    const std::vector<tensor::Shape> shapes = graph::node_shapes(block, srcs);
    for (const graph::Node& node : block.nodes) {
      if (full_name(block, node) != name) continue;
      const tensor::Shape src = graph::node_inputs(node, srcs, shapes, block.name).front();
      return known_.emplace(name, make(node, src, field)).first->second;
    }
  }
  field.refuse(fmt::format("is '{}', but model '{}' has no such layer", name, model_->name));
}

tensor::SparseMatrix WholeLayers::matrix(const JsonField& field) {
  const std::string hash = field.text();
  if (matrices_.empty()) {
    for (const graph::BlockSpec& block : model_for(field).blocks) {
      for (const graph::Node& node : block.nodes) {
        const auto* sparse = std::get_if<ops::SparseLinear>(&node.layer);
        if (sparse == nullptr) continue;
        matrices_[matrix_hash(*sparse->pattern, sparse->values.get())] = {sparse->pattern,
                                                                          sparse->values};
      }
    }
  }
  const auto found = matrices_.find(hash);
  if (found == matrices_.end()) {
    field.refuse(fmt::format("is '{}', but model '{}' has no such matrix", hash, model_->name));
  }
  return found->second;
}

}  // namespace plait::plan
