// Pieces of programs that several strategies share: the plain way through a chain of blocks.
#pragma once

#include "strategy/strategy.hpp"

namespace plait::strategy {

/// A plan with everything the request says and one empty program per worker.
plan::Plan empty_plan(const std::string& strategy, const PlanRequest& request);

/// The first one of a minibatch moves running statistics and begins gradients, the others add.
struct Microbatch {
  plan::Samples samples{};
  bool first = true;
};

/// load, forward of every block, loss.
void append_forward(const plan::Network& network, const Microbatch& of,
                    std::vector<plan::Task>& tasks);

/// backward_data, then backward_weights of one block. Blocks without parameters have no weights
/// task; the first of the chain then has none at all.
void append_backward(const plan::Network& network, int block, const Microbatch& of,
                     std::vector<plan::Task>& tasks);

/// clip if wanted, then the update of every block with parameters.
void append_updates(const plan::Network& network, bool clip, std::vector<plan::Task>& tasks);

}  // namespace plait::strategy
