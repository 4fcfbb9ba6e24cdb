// The parser of PipeDream's lines, the nodes that matter, and a topological order of them.
#include "cost/published_graph.hpp"

#include <algorithm>
#include <charconv>
#include <functional>
#include <queue>
#include <unordered_map>

#include "base/error.hpp"
#include "cost/text_file.hpp"

namespace plait::cost {

namespace {

constexpr std::size_t kMaxNodes = 100'000;
constexpr std::size_t kMaxEdges = 1'000'000;
constexpr double kMaxBytes = 1e13;  // of one node; a sum over all nodes fits 63 bits

struct Line {
  const std::string& source;
  int number = 0;
  std::string place() const { return fmt::format("{}:{}", source, number); }
};

struct Edge {
  int from = 0;
  int to = 0;
  int line = 0;
};

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::vector<std::string_view> split(std::string_view text, std::string_view separator) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0;;) {
    const std::size_t end = text.find(separator, begin);
    parts.push_back(trimmed(text.substr(begin, end - begin)));
    if (end == std::string_view::npos) return parts;
    begin = end + separator.size();
  }
}

int node_number(std::string_view name, const Line& line) {
  constexpr std::string_view kPrefix = "node";
  constexpr std::size_t kMaxDigits = 9;
  const std::string_view digits = name.substr(std::min(kPrefix.size(), name.size()));
  int number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (!name.starts_with(kPrefix) || error != std::errc{} || end != digits.data() + digits.size() ||
      number < 0 || digits.size() > kMaxDigits) {
    user_error("{}: {} is not the name of a node such as node1", line.place(), in_quotes(name));
  }
  return number;
}

double number_of(std::string_view text, std::string_view key, double max, const Line& line) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) {
    user_error("{}: {} is {}, not a number", line.place(), key, in_quotes(text));
  }
  if (!(number >= 0 && number <= max)) {  // not NaN either
    user_error("{}: {} is {}; it must be in 0 to {:g}", line.place(), key, number, max);
  }
  return number;
}

/// A number, or the sum of a list "[1.0; 2.0]": a node with several outputs.
double sum_of(std::string_view text, std::string_view key, double max, const Line& line) {
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') {
    return number_of(text, key, max, line);
  }
  double sum = 0;
  for (const std::string_view part : split(text.substr(1, text.size() - 2), ";")) {
    sum += number_of(part, key, max, line);
  }
  if (sum > max)
    user_error("{}: {} is {} in all; it must be in 0 to {:g}", line.place(), key, sum, max);
  return sum;
}

void read_measures(std::string_view text, PublishedNode& node, const Line& line) {
  struct Measure {
    std::string_view key;
    double* value;
    double max;
    bool seen = false;
  };
  Measure measures[] = {{"forward_compute_time", &node.forward_ms, kMaxMilliseconds},
                        {"backward_compute_time", &node.backward_ms, kMaxMilliseconds},
                        {"activation_size", &node.activation_bytes, kMaxBytes},
                        {"parameter_size", &node.parameter_bytes, kMaxBytes}};
  for (const std::string_view pair : split(text, ",")) {
    const std::size_t equals = pair.find('=');
    if (equals == std::string_view::npos) {
      user_error("{}: {} is not of the form key=number", line.place(), in_quotes(pair));
    }
    const std::string_view key = trimmed(pair.substr(0, equals));
    Measure* found = nullptr;
    for (Measure& measure : measures) found = measure.key == key ? &measure : found;
    if (found == nullptr) user_error("{}: unknown key {}", line.place(), in_quotes(key));
    if (found->seen) user_error("{}: {} occurs twice", line.place(), key);
    found->seen = true;
    *found->value = sum_of(trimmed(pair.substr(equals + 1)), key, found->max, line);
  }
  for (const Measure& measure : measures) {
    if (!measure.seen) user_error("{}: {} is missing", line.place(), measure.key);
  }
}

}  // namespace

std::vector<PublishedNode> parse_published_nodes(std::string_view text, const std::string& source) {
  std::vector<PublishedNode> nodes;
  std::vector<Edge> edges;
  std::unordered_map<int, int> index;
  Line line{source};
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view content = trimmed(text.substr(begin, end - begin));
    begin = end + 1;
    ++line.number;
    if (content.empty()) continue;
    const std::vector<std::string_view> parts = split(content, " -- ");
    if (parts.size() == 2) {
      if (edges.size() == kMaxEdges) {
        user_error("{}: more than {} edges", line.place(), kMaxEdges);
      }
      edges.push_back({node_number(parts[0], line), node_number(parts[1], line), line.number});
    } else if (parts.size() == 3) {
      PublishedNode node;
      node.number = node_number(parts[0], line);
      node.description = parts[1];
      read_measures(parts[2], node, line);
      if (nodes.size() == kMaxNodes) user_error("{}: more than {} nodes", line.place(), kMaxNodes);
      if (!index.emplace(node.number, static_cast<int>(nodes.size())).second) {
        user_error("{}: node{} occurs twice", line.place(), node.number);
      }
      nodes.push_back(std::move(node));
    } else {
      user_error("{}: {} is neither a node nor an edge of a published profile", line.place(),
                 in_quotes(content));
    }
  }
  for (const Edge& edge : edges) {
    for (const int number : {edge.from, edge.to}) {
      if (!index.contains(number)) {
        user_error("{}:{}: an edge of node{}, which has no line of its own", source, edge.line,
                   number);
      }
    }
    nodes[static_cast<std::size_t>(index.at(edge.from))].next.push_back(index.at(edge.to));
  }
  for (PublishedNode& node : nodes) {
    std::ranges::sort(node.next);
    node.next.erase(std::unique(node.next.begin(), node.next.end()), node.next.end());
    for (const int to : node.next) ++nodes[static_cast<std::size_t>(to)].inputs;
  }
  return nodes;
}

void drop_unread(std::vector<PublishedNode>& nodes) {
  std::vector<std::vector<int>> sources(nodes.size());
  std::vector<std::size_t> readers;
  std::size_t ends = 0;
  using Free = std::pair<int, int>;  // number, index: of several ends the last one remains
  std::priority_queue<Free, std::vector<Free>, std::greater<>> free;
  const auto add_end = [&](int i) {
    ++ends;
    const PublishedNode& node = nodes[static_cast<std::size_t>(i)];
    if (node.is_free()) free.emplace(node.number, i);
  };
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (const int to : nodes[i].next) {
      sources[static_cast<std::size_t>(to)].push_back(static_cast<int>(i));
    }
    readers.push_back(nodes[i].next.size());
    if (readers.back() == 0) add_end(static_cast<int>(i));
  }
  std::vector<int> moved(nodes.size(), 0);  // to this index; -1: dropped
  while (ends > 1 && !free.empty()) {
    const auto dropped = static_cast<std::size_t>(free.top().second);
    free.pop();
    --ends;
    moved[dropped] = -1;
    for (const int source : sources[dropped]) {
      if (--readers[static_cast<std::size_t>(source)] == 0) add_end(source);
    }
  }
  std::vector<PublishedNode> kept;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (moved[i] < 0) continue;
    moved[i] = static_cast<int>(kept.size());
    kept.push_back(std::move(nodes[i]));
  }
  for (PublishedNode& node : kept) {
    for (int& to : node.next) to = moved[static_cast<std::size_t>(to)];
    std::erase(node.next, -1);
  }
  nodes = std::move(kept);
}

std::vector<int> published_order(const std::vector<PublishedNode>& nodes,
                                 const std::string& source) {
  // (is no input, number, index)
  using Ready = std::tuple<bool, int, int>;
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
  std::vector<int> missing;
  const auto push = [&](int i) {
    const PublishedNode& node = nodes[static_cast<std::size_t>(i)];
    ready.emplace(!node.is_input(), node.number, i);
  };
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    missing.push_back(nodes[i].inputs);
    if (missing.back() == 0) push(static_cast<int>(i));
  }
  std::vector<int> order;
  while (!ready.empty()) {
    const int i = std::get<2>(ready.top());
    ready.pop();
    order.push_back(i);
    for (const int next : nodes[static_cast<std::size_t>(i)].next) {
      if (--missing[static_cast<std::size_t>(next)] == 0) push(next);
    }
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (missing[i] > 0) {
      user_error("{}: the edges form a cycle through node{}", source, nodes[i].number);
    }
  }
  return order;
}

}  // namespace plait::cost
