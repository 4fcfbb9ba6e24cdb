// PipeDream's graph of layers as a chain of blocks: where it can be cut, which batch size it was
// measured with, what each block costs.
#include "cost/published.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <optional>

#include "base/error.hpp"
#include "cost/published_graph.hpp"
#include "cost/text_file.hpp"

namespace plait::cost {

namespace {

using Nodes = std::vector<PublishedNode>;

/// One beginning and one end, or the graph is no chain of blocks.
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

/// For every position of the order: the bytes of all nodes at or before it that are read after it.
std::vector<double> crossing(const Nodes& nodes, const std::vector<int>& order) {
  std::vector<int> position(nodes.size());
  for (std::size_t p = 0; p < order.size(); ++p) {
    position[static_cast<std::size_t>(order[p])] = static_cast<int>(p);
  }
  std::vector<double> change(order.size() + 1);
  for (std::size_t p = 0; p < order.size(); ++p) {
    int read = static_cast<int>(p);
    for (const int next : nodes[static_cast<std::size_t>(order[p])].next) {
      read = std::max(read, position[static_cast<std::size_t>(next)]);
    }
    const double bytes = nodes[static_cast<std::size_t>(order[p])].activation_bytes;
    change[p] += bytes;
    change[static_cast<std::size_t>(read)] -= bytes;
  }
  std::vector<double> sum(order.size() + 1);
  std::partial_sum(change.begin(), change.end(), sum.begin());
  return sum;
}

/// Convolutions, linear layers and the like: each begins a block, and what follows belongs to it.
bool has_matrix(const PublishedNode& node) {
  return node.parameter_bytes > 0 && node.description.find("Norm") == std::string::npos;
}

/// Grows block by block along the order.
class ChainBuilder {
 public:
  explicit ChainBuilder(PublishedProfile& profile) : profile_(profile) {}

  void add_input(const PublishedNode& node) { input_ += elements(node.activation_bytes); }
  void end_of_inputs() {
    profile_.network.tensors.push_back(std::max<std::int64_t>(input_, 1));
    profile_.network.input = tensor::Shape{profile_.network.tensors.front()};
  }
  void add(const PublishedNode& node) {
    if (first_.empty()) first_ = short_name(node);
    last_ = short_name(node);
    block_.inner_elements += dst_;
    dst_ = elements(node.activation_bytes);
    block_.parameters += std::llround(node.parameter_bytes / tensor::kFloatBytes);
    seconds_.forward += 1e-3 * node.forward_ms;
    seconds_.backward_data += 1e-3 * node.backward_ms;
  }
  bool is_open() const { return !first_.empty(); }
  /// `bytes` cross: those of the node added last, and what others before it are still read for.
  void cut(double bytes) {
    dst_ = elements(bytes);
    plan::Network& network = profile_.network;
    block_.name = first_ == last_ ? first_ : first_ + ".." + last_;
    if (block_.parameters > 0) {
      seconds_.backward_weights = seconds_.backward_data / 2;
      seconds_.backward_data -= seconds_.backward_weights;
    }
    block_.srcs = {network.size()};
    block_.dst = network.size() + 1;
    network.blocks.push_back(std::move(block_));
    network.tensors.push_back(std::max<std::int64_t>(dst_, 1));
    profile_.blocks.push_back(seconds_);
    first_.clear();
    block_ = {};
    seconds_ = {};
    dst_ = 0;
  }

 private:
  /// Per sample.
  std::int64_t elements(double bytes) const {
    return std::llround(
        std::ceil(bytes / tensor::kFloatBytes / static_cast<double>(profile_.batch)));
  }

  PublishedProfile& profile_;
  std::string first_;
  std::string last_;
  plan::NetworkBlock block_{};
  BlockSeconds seconds_{};
  std::int64_t input_ = 0;
  std::int64_t dst_ = 0;
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
  const Nodes nodes = parse_published_nodes(text, source);
  check_ends(nodes, source);
  const std::vector<int> order = published_order(nodes, source);
  const std::vector<double> crossing_after = crossing(nodes, order);
  PublishedProfile profile{.batch = common_batch(nodes), .source = source};
  profile.network.name = std::filesystem::path(source).stem().string();
  ChainBuilder chain(profile);
  bool inputs = true;
  for (std::size_t p = 0; p < order.size(); ++p) {
    const PublishedNode& node = nodes[static_cast<std::size_t>(order[p])];
    if (node.is_input()) {
      chain.add_input(node);
      continue;
    }
    if (inputs) chain.end_of_inputs();
    inputs = false;
    if (has_matrix(node) && chain.is_open()) chain.cut(crossing_after[p - 1]);
    chain.add(node);
    if (p + 1 == order.size()) chain.cut(node.activation_bytes);
  }
  return profile;
}

PublishedProfile read_published(const std::string& path) {
  return parse_published(read_text_file(path), path);
}

std::unique_ptr<CostModel> make_published_cost(const PublishedProfile& profile) {
  return std::make_unique<PublishedCost>(profile);
}

}  // namespace plait::cost
