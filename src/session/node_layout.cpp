// Checks that ranks are consecutive and equally many on every node, and says what is not.
#include "session/node_layout.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>

namespace plait::session {

std::string uneven_nodes(const std::vector<int>& node_of_rank) {
  constexpr std::size_t kMostNodes = 4;
  std::map<int, std::vector<int>> ranks;
  for (std::size_t rank = 0; rank < node_of_rank.size(); ++rank) {
    ranks[node_of_rank[rank]].push_back(static_cast<int>(rank));
  }
  const std::size_t each = ranks.begin()->second.size();
  const bool equal =
      std::ranges::all_of(ranks, [&](const auto& one) { return one.second.size() == each; });
  const bool in_blocks = std::ranges::all_of(ranks, [](const auto& one) {
    return one.second.back() - one.second.front() + 1 == static_cast<int>(one.second.size());
  });
  if (ranks.size() < 2 || (equal && in_blocks)) return "";
  std::vector<std::string> texts;
  for (const auto& [node, members] : ranks) {
    if (texts.size() == kMostNodes) break;
    texts.push_back(fmt::format("node {} has rank(s) {}", node, fmt::join(members, ", ")));
  }
  const std::string lie =
      fmt::format("{}{}", fmt::join(texts, "; "), ranks.size() > kMostNodes ? "; ..." : "");
  if (!equal) {
    return fmt::format(
        "{}: start equally many on every node (mpirun --map-by ppr:{}:node, srun "
        "--ntasks-per-node={})",
        lie, std::max<std::size_t>(1, node_of_rank.size() / ranks.size()),
        std::max<std::size_t>(1, node_of_rank.size() / ranks.size()));
  }
  return fmt::format(
      "{}: give every node consecutive ranks (mpirun --map-by slot or --map-by "
      "ppr:{}:node, srun --distribution=block)",
      lie, each);
}

std::string uneven_nodes(transport::Group& group) {
  std::vector<int> nodes;
  for (int rank = 0; rank < group.size(); ++rank) nodes.push_back(group.node(rank));
  return uneven_nodes(nodes);
}

}  // namespace plait::session
