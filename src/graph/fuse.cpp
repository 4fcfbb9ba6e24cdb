// Groups the nodes of every block into layer calls, and names what each of these reads.
#include "graph/fuse.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "graph/fused_steps.hpp"

namespace plait::graph {

namespace {

/// Nodes of a block that become one fine block, ascending.
using NodeGroup = std::vector<int>;

std::vector<NodeGroup> groups_of(const BlockSpec& block, int inputs) {
  const std::vector<FusedStep> steps = fused_steps(block, inputs);
  std::vector<NodeGroup> groups;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const FusedStep& step = steps[i];
    NodeGroup group{step.node};
    if (step.last != step.node) group.push_back(step.last);
    if (ends_in_activation(block, steps, i)) group.push_back(steps[++i].node);
    groups.push_back(std::move(group));
  }
  return groups;
}

class Fusing {
 public:
  explicit Fusing(const ModelSpec& model) : model_(model) {}

  std::vector<FineBlock> run() {
    for (std::size_t i = 0; i < model_.blocks.size(); ++i) cut(i);
    return std::move(fine_);
  }

 private:
  void cut(std::size_t index) {
    const BlockSpec& block = model_.blocks[index];
    const std::vector<int> inputs = inputs_of(model_, index);
    const std::vector<NodeGroup> groups = groups_of(block, static_cast<int>(inputs.size()));
    std::vector<int> made(block.nodes.size(), -1);  // by node: the fine block that leaves it
    for (const NodeGroup& group : groups) {
      const int number = static_cast<int>(fine_.size());
      FineBlock fine{.name = groups.size() == 1 ? block.name : name_of(block, group.front()),
                     .spec = {.name = block.name, .nodes = {}},
                     .reads = {},
                     .whole = static_cast<int>(index)};
      for (const int node : group) {
        const Node& one = block.nodes[static_cast<std::size_t>(node)];
        fine.spec.nodes.push_back({one.name, one.layer, {}, one.weights});
        for (const int input : one.inputs) {
          const auto inside = std::ranges::find(group, input);
          if (inside != group.end()) {
            fine.spec.nodes.back().inputs.push_back(static_cast<int>(inside - group.begin()));
            continue;
          }
          const int source = input < 0
                                 ? result(inputs[static_cast<std::size_t>(number_of_input(input))])
                                 : made[static_cast<std::size_t>(input)];
          fine.spec.nodes.back().inputs.push_back(block_input(input_number(fine.reads, source)));
        }
      }
      made[static_cast<std::size_t>(group.back())] = number;
      names_.insert(fine.name);
      fine_.push_back(std::move(fine));
    }
    results_.push_back(made.back());
  }

  /// The fine block that leaves the result of a model's block.
  int result(int block) const {
    return block == kModelInput ? kModelInput : results_[static_cast<std::size_t>(block)];
  }

  static int input_number(std::vector<int>& reads, int source) {
    const auto found = std::ranges::find(reads, source);
    if (found == reads.end()) reads.push_back(source);
    return static_cast<int>(std::ranges::find(reads, source) - reads.begin());
  }

  /// "layer1.0.conv1"; numbered where that is taken.
  std::string name_of(const BlockSpec& block, int node) const {
    const std::string& own = block.nodes[static_cast<std::size_t>(node)].name;
    const std::string name = own.empty() ? block.name : fmt::format("{}.{}", block.name, own);
    const auto taken = [&](const std::string& one) {
      return names_.contains(one) ||
             (one != block.name &&
              std::ranges::find(model_.blocks, one, &BlockSpec::name) != model_.blocks.end());
    };
    std::string free = name;
    for (int number = 2; taken(free); ++number) free = fmt::format("{}_{}", name, number);
    return free;
  }

  const ModelSpec& model_;
  std::vector<FineBlock> fine_;
  std::vector<int> results_;  ///< by block of the model
  std::set<std::string> names_;
};

}  // namespace

std::vector<FineBlock> fuse(const ModelSpec& model) { return Fusing(model).run(); }

}  // namespace plait::graph
