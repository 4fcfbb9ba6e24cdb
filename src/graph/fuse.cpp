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

int input_number(std::vector<int>& reads, int source) {
  const auto found = std::ranges::find(reads, source);
  if (found != reads.end()) return static_cast<int>(found - reads.begin());
  reads.push_back(source);
  return static_cast<int>(reads.size()) - 1;
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
    std::vector<int> sources;  // of the block, each once
    BlockSpec renumbered = block;
    std::vector<int> number;
    for (const int input : inputs_of(model_, index)) {
      number.push_back(input_number(sources, result(input)));
    }
    for (Node& node : renumbered.nodes) {
      for (int& input : node.inputs) {
        if (input < 0)
          input = block_input(number[static_cast<std::size_t>(number_of_input(input))]);
      }
    }
    const int first = static_cast<int>(fine_.size());
    std::vector<FinePart> parts = fuse(renumbered, static_cast<int>(sources.size()));
    for (FinePart& part : parts) {
      FineBlock fine{.name = parts.size() == 1 ? block.name : name_of(block, part.spec.nodes[0]),
                     .spec = std::move(part.spec),
                     .reads = {},
                     .whole = static_cast<int>(index)};
      for (const int read : part.reads) {
        fine.reads.push_back(read < 0 ? sources[static_cast<std::size_t>(number_of_input(read))]
                                      : first + read);
      }
      names_.insert(fine.name);
      fine_.push_back(std::move(fine));
    }
    results_.push_back(static_cast<int>(fine_.size()) - 1);
  }

  /// The fine block that leaves the result of a model's block.
  int result(int block) const {
    return block == kModelInput ? kModelInput : results_[static_cast<std::size_t>(block)];
  }

  /// "layer1.0.conv1"; numbered where that is taken.
  std::string name_of(const BlockSpec& block, const Node& node) const {
    const std::string name = full_name(block, node);
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

std::vector<FinePart> fuse(const BlockSpec& block, int inputs) {
  std::vector<FinePart> parts;
  std::vector<int> made(block.nodes.size(), -1);  // by node: the part that leaves it
  for (const NodeGroup& group : groups_of(block, inputs)) {
    FinePart part{.spec = {.name = block.name, .nodes = {}}, .reads = {}};
    for (const int node : group) {
      const Node& one = block.nodes[static_cast<std::size_t>(node)];
      part.spec.nodes.push_back({one.name, one.layer, {}, one.weights});
      for (const int input : one.inputs) {
        const auto inside = std::ranges::find(group, input);
        part.spec.nodes.back().inputs.push_back(
            inside != group.end()
                ? static_cast<int>(inside - group.begin())
                : block_input(input_number(
                      part.reads, input < 0 ? input : made[static_cast<std::size_t>(input)])));
      }
    }
    made[static_cast<std::size_t>(group.back())] = static_cast<int>(parts.size());
    parts.push_back(std::move(part));
  }
  return parts;
}

std::vector<FineBlock> fuse(const ModelSpec& model) { return Fusing(model).run(); }

}  // namespace plait::graph
