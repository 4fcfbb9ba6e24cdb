// Reduction: a sum over a group in three moves, so that a plan can compute between them:
//   start   every member sends shard r of its values to member r
//   sum     member r adds the shards in rank order, in fp32, and sends the result to all
//   finish  every member has all shards of the result, in the memory of its values
// The values may lie in several pieces; they count as one array, and other members may have cut it
// elsewhere. Shards are as equal as possible in units of 16 values. With Wire::bf16 every
// contribution and the result are rounded to bf16 (nearest even), the owner's too.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "transport/group.hpp"

namespace plait::transport {

class Reduction {
 public:
  /// Tag: as of a message; two reductions of one group under way need different ones. The values
  /// belong to the reduction from start() to finish(); then it may be started again.
  Reduction(Group& group, std::vector<std::span<float>> values, Wire wire, int tag);
  ~Reduction();
  Reduction(Reduction&&) noexcept;
  Reduction& operator=(Reduction&&) noexcept;
  Reduction(const Reduction&) = delete;
  Reduction& operator=(const Reduction&) = delete;

  void start();
  /// True when sum() / finish() would not wait.
  bool ready() const;
  void sum();
  void finish();
  /// Seconds that sum() and finish() spent waiting for others since start().
  double waited() const;
  /// Seconds that messages to this member were on their way since start(): from start() to the last
  /// contribution, and from sum() to the last result.
  double under_way() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace plait::transport
