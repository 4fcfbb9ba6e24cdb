// How the processes of an MPI job lie on its nodes. Strategies that treat nodes apart need equally
// many consecutive ranks on each.
#pragma once

#include <string>
#include <vector>

#include "transport/group.hpp"

namespace plait::session {

/// Where several nodes have unequal or mixed ranks: how they lie, and how to start the job instead.
/// "" where there is one node, or nothing is wrong.
std::string uneven_nodes(const std::vector<int>& node_of_rank);
std::string uneven_nodes(transport::Group& group);

}  // namespace plait::session
