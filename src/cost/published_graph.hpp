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
  double activation_bytes = 0;
  double parameter_bytes = 0;
  std::vector<int> next{};  ///< indices of the nodes that read it
  int inputs = 0;           ///< edges that end here
  bool is_input() const { return description.starts_with("Input"); }
};

/// UserError as parse_published says, but for the order.
std::vector<PublishedNode> parse_published_nodes(std::string_view text, const std::string& source);

/// Indices so that every edge points forward: inputs first, then the smallest number that is ready.
/// UserError on a cycle.
std::vector<int> published_order(const std::vector<PublishedNode>& nodes,
                                 const std::string& source);

}  // namespace plait::cost
