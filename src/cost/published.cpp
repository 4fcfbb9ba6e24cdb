// PipeDream's graph of layers as a network with a block per node: which batch size it was measured
// with, what each block reads, writes and costs.
#include "cost/published.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <optional>

#include "base/error.hpp"
#include "cost/published_graph.hpp"
#include "cost/text_file.hpp"

namespace plait::cost {

namespace {

using Nodes = std::vector<PublishedNode>;

/// Inputs at the beginning and one end, or the graph is no network.
void check_ends(const Nodes& nodes, const std::string& source) {
  if (nodes.empty()) user_error("{}: contains no nodes; is this a profile?", source);
  const PublishedNode* last = nullptr;
  bool has_input = false;
  for (const PublishedNode& node : nodes) {
    has_input = has_input || node.is_input();
    if (node.is_input() && node.inputs > 0) {
      user_error("{}: node{} is an Input but has an incoming edge", source, node.number);
    }
    if (!node.is_input() && node.inputs == 0) {
      user_error("{}: node{} has no incoming edge and is not an Input", source, node.number);
    }
    if (!node.next.empty()) continue;
    if (last != nullptr) {
      user_error("{}: two nodes without readers, node{} and node{}; a network has one output",
                 source, last->number, node.number);
    }
    last = &node;
  }
  if (!has_input) user_error("{}: there is no Input node", source);
  if (last == nullptr) user_error("{}: the edges form a cycle: every node has a reader", source);
  if (last->is_input()) user_error("{}: contains only an Input", source);
  if (std::ranges::all_of(nodes, [](const PublishedNode& node) {
        return node.is_input() || node.forward_ms + node.backward_ms == 0;
      })) {
    user_error("{}: all times are 0; is this a profile?", source);
  }
}

/// Batch of a Linear layer: its activation has out_features numbers per sample.
std::optional<std::int64_t> batch_of(const PublishedNode& node) {
  constexpr std::string_view kKey = "out_features=";
  const std::string_view text = node.description;
  const std::size_t found = text.find(kKey);
  if (!text.starts_with("Linear") || found == std::string_view::npos) return {};
  std::int64_t features = 0;
  std::from_chars(text.data() + found + kKey.size(), text.data() + text.size(), features);
  if (features < 1) return {};
  const double batch = node.activation_bytes / tensor::kFloatBytes / static_cast<double>(features);
  if (batch < 1 || batch > kMaxBatch || batch != std::floor(batch)) return {};
  return static_cast<std::int64_t>(batch);
}

/// What all Linear layers agree on.
std::int64_t common_batch(const Nodes& nodes) {
  std::optional<std::int64_t> common;
  for (const PublishedNode& node : nodes) {
    const std::optional<std::int64_t> batch = batch_of(node);
    if (!batch) continue;
    if (common && *common != *batch) return kPublishedBatch;
    common = batch;
  }
  return common.value_or(kPublishedBatch);
}

/// "conv2d_2" of "node2 -- Conv2d(3, 64, ...)".
std::string short_name(const PublishedNode& node) {
  std::string name;
  for (const char c : node.description) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!letter || name.size() == 40) break;
    name += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return fmt::format("{}_{}", name.empty() ? "node" : name, node.number);
}

/// A block per node, in an order in which they can be computed.
class GraphBuilder {
 public:
  GraphBuilder(const Nodes& nodes, PublishedProfile& profile)
      : nodes_(nodes), profile_(profile), reads_(nodes.size()) {}

  void run(const std::vector<int>& order) {
    plan::Network& network = profile_.network;
    std::int64_t input = 0;
    for (const int index : order) {
      if (node(index).is_input()) input += elements(node(index));
    }
    network.tensors.push_back(std::max<std::int64_t>(input, 1));
    network.input = tensor::Shape{network.tensors.front()};
    for (const int index : order) {
      if (!node(index).is_input()) add(index);
      const int written = node(index).is_input() ? 0 : network.size();
      for (const int next : node(index).next) note_read(next, written);
    }
    plan::complete(network);
  }

 private:
  const PublishedNode& node(int index) const { return nodes_[static_cast<std::size_t>(index)]; }

  /// Writers come in order; several inputs are one tensor.
  void note_read(int index, int tensor) {
    std::vector<int>& reads = reads_[static_cast<std::size_t>(index)];
    if (reads.empty() || reads.back() != tensor) reads.push_back(tensor);
  }

  /// Per sample.
  std::int64_t elements(const PublishedNode& node) const {
    return std::llround(std::ceil(node.activation_bytes / tensor::kFloatBytes /
                                  static_cast<double>(profile_.batch)));
  }

  void add(int index) {
    plan::Network& network = profile_.network;
    plan::NetworkBlock block{
        .name = short_name(node(index)),
        .srcs = std::move(reads_[static_cast<std::size_t>(index)]),
        .dst = network.size() + 1,
        .parameters = std::llround(node(index).parameter_bytes / tensor::kFloatBytes)};
    BlockSeconds seconds{.forward = 1e-3 * node(index).forward_ms};
    if (block.parameters > 0 || block.srcs != std::vector{0})
      seconds.backward_data = 1e-3 * node(index).backward_ms;
    if (block.parameters > 0) {
      seconds.backward_weights = seconds.backward_data / 2;
      seconds.backward_data -= seconds.backward_weights;
    }
    network.blocks.push_back(std::move(block));
    network.tensors.push_back(std::max<std::int64_t>(elements(node(index)), 1));
    profile_.blocks.push_back(seconds);
  }

  const Nodes& nodes_;
  PublishedProfile& profile_;
  std::vector<std::vector<int>> reads_;  ///< tensors, by node
};

class PublishedCost final : public CostModel {
 public:
  explicit PublishedCost(const PublishedProfile& profile)
      : blocks_(profile.blocks),
        batch_(static_cast<double>(profile.batch)),
        source_("published profile " + profile.source) {}

  BlockSeconds block(int block, std::int64_t samples) const override {
    const BlockSeconds& all = blocks_[static_cast<std::size_t>(block)];
    const double share = static_cast<double>(samples) / batch_;
    return {.forward = all.forward * share,
            .backward_data = all.backward_data * share,
            .backward_weights = all.backward_weights * share};
  }
  double loss(std::int64_t) const override { return 0; }
  double load(std::int64_t) const override { return 0; }
  double sum(std::int64_t, int) const override { return 0; }
  double contention(int) const override { return 1; }
  std::string source() const override { return source_; }

 private:
  std::vector<BlockSeconds> blocks_;
  double batch_;
  std::string source_;
};

}  // namespace

PublishedProfile parse_published(std::string_view text, const std::string& source) {
  Nodes nodes = parse_published_nodes(text, source);
  drop_unread(nodes);
  check_ends(nodes, source);
  const std::vector<int> order = published_order(nodes, source);
  PublishedProfile profile{.batch = common_batch(nodes), .source = source};
  profile.network.name = std::filesystem::path(source).stem().string();
  GraphBuilder(nodes, profile).run(order);
  return profile;
}

PublishedProfile read_published(const std::string& path) {
  return parse_published(read_text_file(path), path);
}

std::unique_ptr<CostModel> make_published_cost(const PublishedProfile& profile) {
  return std::make_unique<PublishedCost>(profile);
}

}  // namespace plait::cost
