// Keeps the largest weights of each linear layer, and rewrites the model with sparse layers.
#include "run/prune.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "base/error.hpp"
#include "base/nearest.hpp"
#include "run/sparse_indices.hpp"

namespace plait::run {

namespace {

struct Kept {
  tensor::SparsePattern pattern;
  std::vector<float> values;
};

Kept largest(const tensor::Tensor& weight, double sparsity) {
  const std::span<const float> values = weight.floats();
  std::vector<std::uint32_t> order(values.size());
  std::iota(order.begin(), order.end(), 0U);
  const auto gone =
      static_cast<std::size_t>(std::floor(static_cast<double>(values.size()) * sparsity + 1e-9));
  const std::size_t stay = values.size() - gone;
  const auto before = [&](std::uint32_t a, std::uint32_t b) {
    const float x = std::abs(values[a]);
    const float y = std::abs(values[b]);
    return x != y ? x > y : a < b;
  };
  std::ranges::nth_element(order, order.begin() + static_cast<std::ptrdiff_t>(stay), before);
  order.resize(stay);
  std::ranges::sort(order);
  const auto columns = static_cast<std::uint32_t>(weight.shape()[1]);
  Kept kept{
      .pattern = {.rows = weight.shape()[0], .columns = columns, .row_begin = {}, .column = {}},
      .values = {}};
  kept.pattern.row_begin.assign(static_cast<std::size_t>(kept.pattern.rows) + 1, 0);
  for (const std::uint32_t at : order) {
    ++kept.pattern.row_begin[at / columns + 1];
    kept.pattern.column.push_back(static_cast<std::int32_t>(at % columns));
    kept.values.push_back(values[at]);
  }
  std::partial_sum(kept.pattern.row_begin.begin(), kept.pattern.row_begin.end(),
                   kept.pattern.row_begin.begin());
  return kept;
}

void check_keep(const graph::ModelSpec& model, const std::vector<std::string>& keep) {
  std::vector<std::string> names;
  for (const graph::BlockSpec& block : model.blocks) names.push_back(block.name);
  for (const std::string& name : keep) {
    if (std::ranges::find(names, name) != names.end()) continue;
    setting_error("keep", name, "is no block of the model{}", did_you_mean(name, names));
  }
}

class Pruner {
 public:
  Pruner(const graph::ModelSpec& model, const std::vector<checkpoint::NamedTensor>& weights,
         const PruneOptions& options)
      : options_(options) {
    pruned_.model = model;
    pruned_.weights = weights;
    for (std::size_t i = 0; i < weights.size(); ++i) index_[weights[i].name] = i;
  }

  PrunedModel run() {
    for (graph::BlockSpec& block : pruned_.model.blocks) {
      if (std::ranges::find(options_.keep, block.name) != options_.keep.end()) continue;
      for (graph::Node& node : block.nodes) {
        if (const auto* linear = std::get_if<ops::Linear>(&node.layer)) {
          const std::string name = graph::full_name(block, node);
          node.layer = node.weights.empty() ? prune_layer(name, *linear)
                                            : like_owner(node.weights, *linear, block.name);
        }
      }
    }
    check_kept_users();
    if (pruned_.layers.empty() && !options_.keep.empty()) {
      user_error("`keep` leaves no linear layer of model '{}' to prune; name fewer blocks",
                 pruned_.model.name);
    }
    if (pruned_.layers.empty()) {
      user_error("model '{}' has no linear layer to prune; convolutions stay dense",
                 pruned_.model.name);
    }
    return std::move(pruned_);
  }

 private:
  /// A layer that uses the weights of another one has its pattern.
  ops::SparseLinear like_owner(const std::string& owner, const ops::Linear& linear,
                               const std::string& block) const {
    const auto found = patterns_.find(owner);
    if (found == patterns_.end()) {
      setting_error("keep", fmt::format("{}", fmt::join(options_.keep, ",")),
                    "keeps layer '{}' dense, but block '{}' uses its weights; keep both or neither",
                    owner, block);
    }
    return {.pattern = found->second, .bias = linear.bias};
  }

  void check_kept_users() const {
    for (const graph::BlockSpec& block : pruned_.model.blocks) {
      for (const graph::Node& node : block.nodes) {
        if (!std::holds_alternative<ops::Linear>(node.layer) || !patterns_.contains(node.weights)) {
          continue;
        }
        setting_error("keep", fmt::format("{}", fmt::join(options_.keep, ",")),
                      "keeps block '{}' dense, which uses the weights of layer '{}'; keep both or "
                      "neither",
                      block.name, node.weights);
      }
    }
  }

  ops::SparseLinear prune_layer(const std::string& name, const ops::Linear& linear) {
    const std::string weight = name + ".weight";
    tensor::Tensor& tensor = pruned_.weights[index_.at(weight)].tensor;
    Kept kept = largest(tensor, options_.sparsity);
    pruned_.layers.push_back({name, tensor.shape().elements(), kept.pattern.size()});
    tensor::Tensor values(tensor::Shape{kept.pattern.size()});
    std::ranges::copy(kept.values, values.floats().begin());
    tensor = std::move(values);
    for (checkpoint::NamedTensor& indices : index_tensors(weight, kept.pattern)) {
      pruned_.weights.push_back(std::move(indices));
    }
    auto pattern = std::make_shared<const tensor::SparsePattern>(std::move(kept.pattern));
    patterns_.emplace(name, pattern);
    return {.pattern = std::move(pattern), .bias = linear.bias};
  }

  PruneOptions options_;
  PrunedModel pruned_;
  std::map<std::string, std::size_t> index_;
  std::map<std::string, std::shared_ptr<const tensor::SparsePattern>> patterns_;  ///< by layer
};

}  // namespace

PrunedModel prune(const graph::ModelSpec& model,
                  const std::vector<checkpoint::NamedTensor>& weights,
                  const PruneOptions& options) {
  check_keep(model, options.keep);
  return Pruner(model, weights, options).run();
}

}  // namespace plait::run
