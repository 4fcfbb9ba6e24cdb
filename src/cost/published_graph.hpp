// The lines of a published profile as a graph, and its nodes in an order that can be cut. Knows no
// blocks and no seconds of samples: published.cpp does.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace plait::cost {

struct PublishedNode {
  int number = 0;  ///< K of nodeK
  std::string description{};
  double forward_ms = 0;
  double backward_ms = 0;
  double activation_bytes = 0;  ///< of all its outputs together
  double parameter_bytes = 0;
  std::vector<int> next{};  ///< indices of the nodes that read it, each once
  int inputs = 0;           ///< nodes that it reads
  bool is_free() const { return forward_ms == 0 && backward_ms == 0 && parameter_bytes == 0; }
  /// By its name, or because it reads nothing and takes no time, such as the first hidden state of
  /// an LSTM.
  bool is_input() const { return description.starts_with("Input") || (inputs == 0 && is_free()); }
};

/// UserError as parse_published says, but for the order and the ends.
std::vector<PublishedNode> parse_published_nodes(std::string_view text, const std::string& source);

/// Without the nodes that nobody reads and that take no time, such as the last hidden state of an
/// LSTM; one end remains if all of them are so.
void drop_unread(std::vector<PublishedNode>& nodes);

/// Indices so that every edge points forward: inputs first, then the smallest number that is ready.
/// UserError on a cycle.
std::vector<int> published_order(const std::vector<PublishedNode>& nodes,
                                 const std::string& source);

}  // namespace plait::cost
